import type { CommandContext } from "#core/command.ts";
import { get, observe } from "./_service.ts";

export default {
  name: "get_exchange_rate",
  summary: "gets the rate at which one currency is exchanged for another.",
  listed: false,
  args: {
    type: "object",
    properties: {
      base: { type: "string", description: "such as EUR" },
      currency: { type: "string", description: "such as USD" },
    },
    required: ["base", "currency"],
  },
  returns: { type: "number" },
  annotations: { readOnly: true, destructive: false, idempotent: true, openWorld: true },
  sends: ["base", "currency"],
  effect: "pure",

  run: async (args: Readonly<Record<string, unknown>>, context: CommandContext) =>
    observe(await get("rates", args, context.signal)),
};
