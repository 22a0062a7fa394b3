/**
 * correct_memory -- replaces a memory that the agent left itself. The old row is never recalled again and stays for people.
 */
import { defineCommand, fail, succeed } from "#core/command.ts";
import { correctFact, FACT_IMPORTANCE } from "#core/memory.ts";

const NOTE_IMPORTANCE = 0.6;

export default defineCommand({
  name: "correct_memory",
  label: "Correct memory",
  group: "memory",
  summary: "replaces a wrong memory of yours.",
  args: {
    type: "object",
    properties: {
      id: { type: "string", description: "memory id", minLength: 1, maxLength: 300 },
      text: { type: "string", description: "what is right; of a fact, its value", minLength: 1, maxLength: 4_000 },
    },
    required: ["id", "text"],
  },
  annotations: { readOnly: false, destructive: false, idempotent: true, openWorld: false },
  effect: "transactional",
  needs: ["memories"],

  async run({ id: written, text: given }, { stage, use }) {
    const { id, factKey, closed, text: old } = await use("memories").findOwn(written);
    if (closed)
      return fail(
        "memory-past",
        `${id} says what was so before ${closed.by}. Correct ${closed.by} instead, or forget ${id}.`,
      );
    const text = factKey === undefined ? undefined : correctFact(old, given);
    if (text === undefined || factKey === undefined) {
      stage({ kind: "memory", memoryKind: "note", text: given.trim(), importance: NOTE_IMPORTANCE, supersedes: id });
      return succeed(`Corrected: ${id} is never recalled again.`);
    }
    stage({ kind: "memory", memoryKind: "fact", text, importance: FACT_IMPORTANCE, factKey, supersedes: id });
    return succeed(`Corrected: ${text}. ${id} is never recalled again.`);
  },
});
