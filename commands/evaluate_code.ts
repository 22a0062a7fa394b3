/** evaluate_code -- has the smart model review code and lists its findings by severity. */
import { defineCommand, succeed } from "#core/command.ts";
import { closed, listOf, oneOf, type Static, text } from "#util/schema.ts";

const SEVERITIES = ["critical", "major", "minor"] as const;

const REVIEW = closed({
  summary: text,
  findings: listOf(closed({ severity: oneOf(...SEVERITIES), where: text, problem: text, advice: text })),
});

export default defineCommand({
  name: "evaluate_code",
  label: "Evaluate Code",
  group: "code",
  summary: "has a model review code; read a file first to have its code.",
  args: {
    type: "object",
    properties: {
      code: { type: "string", description: "the whole code", minLength: 1 },
    },
    required: ["code"],
  },
  annotations: { readOnly: true, destructive: false, idempotent: true, openWorld: false },
  returns: REVIEW,
  effect: "pure",
  timeoutMs: 600_000,
  needs: ["advisor"],

  async run({ code }, { use, signal }) {
    const material = [{ label: "The code", text: code }];
    const question = { role: "smart", words: "evaluate-code", material, schema: REVIEW } as const;
    const { value } = await use("advisor").ask(question, signal);
    return succeed(formatReview(value as Static<typeof REVIEW>), { source: "model", value });
  },
});

function formatReview({ summary, findings }: Static<typeof REVIEW>): string {
  if (findings.length === 0) return `${summary}\nNo findings.`;
  const ordered = SEVERITIES.flatMap((severity) => findings.filter((finding) => finding.severity === severity));
  const lines = ordered.map(
    ({ severity, where, problem, advice }, index) =>
      `${index + 1}. [${severity}] ${where}: ${problem} Advice: ${advice}`,
  );
  return `${summary}\n${lines.join("\n")}`;
}
