import type { CommandContext } from "#core/command.ts";
import { get, observe } from "./_service.ts";

export default {
  name: "list_slack_channels",
  summary: "lists the Slack channels that can be written to.",
  listed: false,
  args: { type: "object", properties: {} },
  returns: {
    type: "array",
    items: {
      type: "object",
      properties: { id: { type: "string" }, name: { type: "string" } },
      required: ["id", "name"],
    },
  },
  annotations: { readOnly: true, destructive: false, idempotent: true, openWorld: true },
  sends: [],
  effect: "pure",

  run: async (args: Readonly<Record<string, unknown>>, context: CommandContext) =>
    observe(await get("slack/channels", args, context.signal)),
};
