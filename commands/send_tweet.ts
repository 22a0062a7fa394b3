/**
 * send_tweet -- posts a text on X at most once.
 *
 * A post cannot be withdrawn: after a crash or a timeout nothing is sent again, and the model gets the status unknown.
 */
import { defineCommand, fail, succeed } from "#core/command.ts";

export default defineCommand({
  name: "send_tweet",
  label: "Send tweet",
  group: "people",
  summary: "posts this text publicly on X (Twitter), 280 characters at most; it cannot be taken back.",
  args: {
    type: "object",
    properties: {
      text: { type: "string", description: "the whole text of the post", minLength: 1, maxLength: 4_000 },
    },
    required: ["text"],
  },
  annotations: { readOnly: false, destructive: false, idempotent: false, openWorld: true },
  sends: ["text"],
  effect: "at-most-once",
  needs: ["posts"],
  timeoutMs: 60_000,

  async run({ text }, { signal, use }) {
    const posted = await use("posts").post(text, signal);
    if (posted.kind === "posted") return succeed(`Posted as ${posted.id}: ${posted.url}`, { value: posted.url });
    const doubt = `Nobody can tell whether it was posted: ${posted.reason}. Look at the account's posts before you repeat it.`;
    return { ...fail("outcome-unknown", doubt, { source: "web" }), status: "unknown" };
  },
});
