import type { CommandContext } from "#core/command.ts";
import { get, observe } from "./_service.ts";

export default {
  name: "describe_emoji",
  summary: "gives the name and meaning of an emoji.",
  listed: false,
  args: {
    type: "object",
    properties: { emoji: { type: "string", description: "one character" } },
    required: ["emoji"],
  },
  returns: { type: "string" },
  annotations: { readOnly: true, destructive: false, idempotent: true, openWorld: true },
  sends: ["emoji"],
  effect: "pure",

  run: async (args: Readonly<Record<string, unknown>>, context: CommandContext) =>
    observe(await get("emoji", args, context.signal)),
};
