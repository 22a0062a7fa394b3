import type { CommandContext } from "#core/command.ts";
import { observe, post } from "./_service.ts";

interface Args {
  readonly path: string;
  readonly msg: string;
  readonly channel_id?: string;
  readonly image?: string;
}

export default {
  name: "post_message",
  summary: "posts a message to a chat of this home.",
  listed: false,
  args: {
    type: "object",
    properties: Object.fromEntries(["path", "msg", "channel_id", "image"].map((name) => [name, { type: "string" }])),
    required: ["path", "msg"],
  },
  annotations: { readOnly: false, destructive: false, idempotent: false, openWorld: true },
  sends: ["msg", "image"],
  effect: "at-most-once",

  async run({ path, image, ...message }: Args, { workspace, signal }: CommandContext) {
    const bytes = image === undefined ? undefined : await workspace.read(image);
    const picture = bytes && Buffer.from(bytes).toString("base64");
    return observe(await post(path, { ...message, image: picture }, signal));
  },
};
