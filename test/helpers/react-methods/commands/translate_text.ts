import type { CommandContext } from "#core/command.ts";
import { get, observe } from "./_service.ts";

export default {
  name: "translate_text",
  summary: "translates a text into another language.",
  listed: false,
  args: {
    type: "object",
    properties: {
      text: { type: "string", description: "what to translate" },
      language: { type: "string", description: "such as German" },
    },
    required: ["text", "language"],
  },
  returns: { type: "string" },
  annotations: { readOnly: true, destructive: false, idempotent: true, openWorld: true },
  sends: ["text", "language"],
  effect: "pure",

  run: async (args: Readonly<Record<string, unknown>>, context: CommandContext) =>
    observe(await get("translation", args, context.signal)),
};
