import type { CommandContext } from "#core/command.ts";
import { method, observe, post } from "./_service.ts";

const TEXTS = ["path", "msg", "channel_id", "image"] as const;

export default {
  ...method({
    name: "post_message",
    summary: "posts a message to a chat of this home.",
    args: Object.fromEntries(TEXTS.map((name) => [name, { type: "string" }])),
    optional: ["channel_id", "image"],
  }),
  annotations: { readOnly: false, destructive: false, idempotent: false, openWorld: true },
  sends: ["msg", "image"],
  effect: "at-most-once",

  run: async ({ path, ...message }: { readonly path: string; readonly image?: string }, context: CommandContext) =>
    observe(await post(path, message, context)),
};
