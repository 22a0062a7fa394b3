/** write_tests -- has the smart model write tests for code; returns text and writes no file. */
import { defineCommand, succeed } from "#core/command.ts";
import { closed, listOf, type Static, text } from "#util/schema.ts";

const TESTS = closed({ tests: text, runWith: text, notCovered: listOf(text) });

export default defineCommand({
  name: "write_tests",
  label: "Write Tests",
  group: "code",
  summary: "has a model write tests for code; save the result with write_to_file.",
  args: {
    type: "object",
    properties: {
      code: { type: "string", description: "the whole code to test", minLength: 1 },
      focus: {
        type: "array",
        description: "one area each",
        items: { type: "string", minLength: 1 },
        maxItems: 50,
      },
    },
    required: ["code"],
  },
  annotations: { readOnly: true, destructive: false, idempotent: true, openWorld: false },
  returns: TESTS,
  effect: "pure",
  timeoutMs: 600_000,
  needs: ["advisor"],

  async run({ code, focus = [] }, { use, signal }) {
    const areas = focus.length === 0 ? [] : [{ label: "The focus", text: focus.map((area) => `- ${area}`).join("\n") }];
    const material = [...areas, { label: "The code", text: code }];
    const question = { role: "smart", words: "write-tests", material, schema: TESTS } as const;
    const { value } = await use("advisor").ask(question, signal);
    return succeed(formatTests(value as Static<typeof TESTS>), { source: "model", value });
  },
});

function formatTests({ tests, runWith, notCovered }: Static<typeof TESTS>): string {
  const missing = notCovered.length === 0 ? [] : ["Not covered:", ...notCovered.map((item) => `- ${item}`)];
  return [tests.trimEnd(), "", `Run with: ${runWith}`, ...missing].join("\n");
}
