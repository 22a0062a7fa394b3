/** evaluate_code -- has the smart model review code and lists its findings by severity. */
import { defineCommand, succeed } from "#core/command.ts";

const SEVERITIES = ["critical", "major", "minor"] as const;

interface CodeReview {
  readonly summary: string;
  readonly findings: readonly {
    readonly severity: (typeof SEVERITIES)[number];
    readonly where: string;
    readonly problem: string;
    readonly advice: string;
  }[];
}

const text = { type: "string" } as const;
const REVIEW = {
  type: "object",
  properties: {
    summary: text,
    findings: {
      type: "array",
      items: {
        type: "object",
        properties: { severity: { type: "string", enum: SEVERITIES }, where: text, problem: text, advice: text },
        required: ["severity", "where", "problem", "advice"],
        additionalProperties: false,
      },
    },
  },
  required: ["summary", "findings"],
  additionalProperties: false,
} as const;

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
    return succeed(formatReview(value as CodeReview), { source: "model", value });
  },
});

function formatReview({ summary, findings }: CodeReview): string {
  if (findings.length === 0) return `${summary}\nNo findings.`;
  const ordered = SEVERITIES.flatMap((severity) => findings.filter((finding) => finding.severity === severity));
  const lines = ordered.map(
    ({ severity, where, problem, advice }, index) =>
      `${index + 1}. [${severity}] ${where}: ${problem} Advice: ${advice}`,
  );
  return `${summary}\n${lines.join("\n")}`;
}
