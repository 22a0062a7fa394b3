/**
 * remember -- notes one fact for good: a subject, an attribute and its value.
 *
 * A later fact about the same thing closes this one in the store: from then on it is recalled as what was so until that step.
 */
import { defineCommand, fail, succeed } from "#core/command.ts";
import { FACT_IMPORTANCE, formatFact, isSameValue, parseFact } from "#core/memory.ts";

export default defineCommand({
  name: "remember",
  label: "Remember",
  group: "memory",
  summary: "notes a fact for good; a later value replaces it.",
  args: {
    type: "object",
    properties: {
      subject: { type: "string", description: "who or what", minLength: 1, maxLength: 200 },
      attribute: { type: "string", description: "such as opening hour", minLength: 1, maxLength: 200 },
      value: { type: "string", description: "what is so now", minLength: 1, maxLength: 2_000 },
    },
    required: ["subject", "attribute", "value"],
  },
  annotations: { readOnly: false, destructive: false, idempotent: true, openWorld: false },
  effect: "transactional",
  needs: ["memories"],

  async run(fact, { stage, use }) {
    const { key, holds, corrected } = await use("memories").findFact(fact);
    const text = formatFact(fact);
    const { value = "" } = parseFact(text) ?? {};
    const readValue = (row: { readonly text: string }): string => parseFact(row.text)?.value ?? row.text;
    if (holds && isSameValue(readValue(holds), value))
      return succeed(`This is known since step ${holds.step}, as ${holds.id}. Nothing changed.`);
    if (corrected && isSameValue(readValue(corrected.row), value))
      return fail("corrected-by-person", `A person has corrected this: ${corrected.by.text} (${corrected.by.id})`);
    stage({ kind: "memory", memoryKind: "fact", text, importance: FACT_IMPORTANCE, factKey: key });
    if (!holds) return succeed("Noted.");
    const before = `${readValue(holds)} (${holds.id}, step ${holds.step})`;
    if (holds.pinned) return succeed(`Noted beside what a person has pinned: ${before}.`);
    return succeed(`Noted. Until now it was: ${before}.`);
  },
});
