/** improve_code -- has the smart model rewrite code by a list of suggestions; returns text and writes no file. */
import { defineCommand, succeed } from "#core/command.ts";
import { closed, listOf, type Static, text } from "#util/schema.ts";

const IMPROVEMENT = closed({ code: text, changes: listOf(text), notFollowed: listOf(text) });

export default defineCommand({
  name: "improve_code",
  label: "Get Improved Code",
  group: "code",
  summary: "has a model rewrite code; save the result with write_to_file.",
  args: {
    type: "object",
    properties: {
      suggestions: {
        type: "array",
        description: "one change each",
        items: { type: "string", minLength: 1 },
        minItems: 1,
        maxItems: 50,
      },
      code: { type: "string", description: "the whole code", minLength: 1 },
    },
    required: ["suggestions", "code"],
  },
  annotations: { readOnly: true, destructive: false, idempotent: true, openWorld: false },
  returns: IMPROVEMENT,
  effect: "pure",
  timeoutMs: 600_000,
  needs: ["advisor"],

  async run({ suggestions, code }, { use, signal }) {
    const material = [
      { label: "The suggestions", text: suggestions.map((each, index) => `${index + 1}. ${each}`).join("\n") },
      { label: "The code", text: code },
    ];
    const question = { role: "smart", words: "improve-code", material, schema: IMPROVEMENT } as const;
    const { value } = await use("advisor").ask(question, signal);
    return succeed(formatImprovement(value as Static<typeof IMPROVEMENT>), { source: "model", value });
  },
});

function formatImprovement({ code, changes, notFollowed }: Static<typeof IMPROVEMENT>): string {
  const listed = (title: string, items: readonly string[]) =>
    items.length === 0 ? [] : [`${title}:`, ...items.map((item) => `- ${item}`)];
  return [code.trimEnd(), "", ...listed("Changed", changes), ...listed("Not followed", notFollowed)]
    .join("\n")
    .trimEnd();
}
