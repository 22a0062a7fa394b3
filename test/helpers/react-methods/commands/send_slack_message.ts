import type { CommandContext } from "#core/command.ts";
import { observe, post } from "./_service.ts";

export default {
  name: "send_slack_message",
  summary: "sends a message to the Slack channel with the specified id.",
  listed: false,
  args: {
    type: "object",
    properties: {
      msg: { type: "string", description: "text of the message" },
      channel_id: { type: "string", description: "id of the channel" },
    },
    required: ["msg", "channel_id"],
  },
  returns: { type: "string" },
  annotations: { readOnly: false, destructive: false, idempotent: false, openWorld: true },
  sends: ["msg", "channel_id"],
  effect: "at-most-once",

  run: async (args: Readonly<Record<string, unknown>>, context: CommandContext) =>
    observe(await post("slack/messages", args, context.signal)),
};
