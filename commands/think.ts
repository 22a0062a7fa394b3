/** think -- keeps a thought in the history. It changes nothing else. */
import { defineCommand, succeed } from "#core/command.ts";

export default defineCommand({
  name: "think",
  label: "Think",
  group: "plan",
  summary: "keeps a thought and changes nothing.",
  args: {
    type: "object",
    properties: { thought: { type: "string", description: "your thought" } },
    required: ["thought"],
  },
  annotations: { readOnly: true, destructive: false, idempotent: true, openWorld: false },
  effect: "pure",

  async run() {
    return succeed("Noted.");
  },
});
