import type { CommandContext } from "#core/command.ts";
import { observe, post } from "./_service.ts";

export default {
  name: "send_message_discord",
  summary: "sends a message to Discord. An optional picture to send can be provided.",
  listed: false,
  args: {
    type: "object",
    properties: {
      msg: { type: "string", description: "text of the message" },
      image: { type: "string", description: "path of a picture" },
    },
    required: ["msg"],
  },
  returns: { type: "string" },
  annotations: { readOnly: false, destructive: false, idempotent: false, openWorld: true },
  sends: ["msg", "image"],
  effect: "at-most-once",

  run: async (args: { readonly image?: string }, context: CommandContext) => {
    const bytes = args.image === undefined ? undefined : await context.workspace.read(args.image);
    const picture = bytes && Buffer.from(bytes).toString("base64");
    return observe(await post("discord", { ...args, image: picture }, context.signal));
  },
};
