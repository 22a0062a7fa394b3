import type { CommandContext } from "#core/command.ts";
import { observe, post } from "./_service.ts";

export default {
  name: "send_slack_image",
  summary: "sends the given picture and corresponding message to the Slack channel with the given name or id.",
  listed: false,
  args: {
    type: "object",
    properties: {
      img: { type: "string", description: "path of a picture" },
      msg: { type: "string", description: "text of the message" },
      channel: { type: "string", description: "name or id of the channel" },
    },
    required: ["img", "msg", "channel"],
  },
  returns: { type: "string" },
  annotations: { readOnly: false, destructive: false, idempotent: false, openWorld: true },
  sends: ["img", "msg", "channel"],
  effect: "at-most-once",

  run: async (args: { readonly img: string }, context: CommandContext) => {
    const bytes = await context.workspace.read(args.img);
    const picture = Buffer.from(bytes).toString("base64");
    return observe(await post("slack/images", { ...args, img: picture }, context.signal));
  },
};
