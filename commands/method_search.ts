/** method_search -- finds functions that fit a description: unlisted commands and the Python helpers of the home. */
import { defineCommand, succeed } from "#core/command.ts";

export default defineCommand({
  name: "method_search",
  label: "Method search",
  group: "code",
  summary:
    "finds methods that fit a description, with their signatures; then call a command by its name, a Python helper in code.",
  args: {
    type: "object",
    properties: {
      description: {
        type: "string",
        description: "what the method does",
        minLength: 1,
        maxLength: 2_000,
        pattern: "\\S",
      },
    },
    required: ["description"],
  },
  annotations: { readOnly: true, destructive: false, idempotent: true, openWorld: false },
  effect: "transactional",
  needs: ["methods"],

  async run({ description }, { stage, use, signal }) {
    const found = await use("methods").find(description, signal);
    if (found.length === 0)
      return succeed("No method fits this. Describe in other words what it does, or do without it.");
    stage({ kind: "methods-found", names: found.map(({ name }) => name) });
    return succeed(found.map(({ signature, doc }) => `\`${signature}\`: ${doc}`).join("\n"));
  },
});
