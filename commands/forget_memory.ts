/**
 * forget_memory -- hides a memory that the agent left itself. It is never recalled again, and people still see it.
 *
 * The row that is staged marks the hidden one and has no words of it. A person who forgets the mark undoes the command.
 */
import { defineCommand, succeed } from "#core/command.ts";

export default defineCommand({
  name: "forget_memory",
  label: "Forget memory",
  group: "memory",
  summary: "hides a memory of yours.",
  args: {
    type: "object",
    properties: { id: { type: "string", description: "memory id", minLength: 1, maxLength: 300 } },
    required: ["id"],
  },
  annotations: { readOnly: false, destructive: false, idempotent: true, openWorld: false },
  effect: "transactional",
  needs: ["memories"],

  async run({ id: written }, { stage, use }) {
    const { id } = await use("memories").findOwn(written);
    const text = `The agent hid the memory ${id}.`;
    stage({ kind: "memory", memoryKind: "forgetting", text, importance: 0, supersedes: id });
    return succeed(`${id} is never recalled again.`);
  },
});
