/** view-schemas.ts -- closed schemas of what verbs print with --json, so that a new or missing field fails a test. */
import type { ValidateFunction } from "ajv";
import { AgentList } from "#api/schemas.ts";
import { amount, closed, count, createAjv, flag, listOf, type ObjectSchema, type Schema, text } from "#util/schema.ts";
import { AgentDetails, CheckView } from "#views/agent-details.ts";
import { DiffView } from "#views/file-diff.ts";
import { FileStory } from "#views/file-story.ts";
import { PlanView } from "#views/plan-view.ts";
import { ReportFacts } from "#views/report-facts.ts";
import { RestorePlan } from "#views/restore-plan.ts";
import { WholeStep } from "#views/whole-step.ts";

type Properties = Readonly<Record<string, Schema>>;

/** Returns the schema without room for members that it does not name, at any depth. */
export function strict(schema: Schema): Schema {
  const inner = Object.entries(schema).map(([keyword, value]): [string, unknown] => {
    if (keyword === "properties")
      return [
        keyword,
        Object.fromEntries(Object.entries(value as Properties).map(([name, each]) => [name, strict(each)])),
      ];
    if (keyword === "anyOf") return [keyword, (value as readonly Schema[]).map(strict)];
    return [keyword, keyword === "items" ? strict(value as Schema) : value];
  });
  return { ...Object.fromEntries(inner), ...("properties" in schema ? { additionalProperties: false } : {}) };
}

// The JSON of the reading verbs has the schemas of the local API, which config/openapi.json documents.

const withMembers = (
  { properties, required, ...schema }: ObjectSchema,
  more: Readonly<Record<string, Schema>>,
): Schema => ({
  ...schema,
  properties: { ...properties, ...more },
  required: [...required, ...Object.keys(more)],
});
function withoutMember(schema: ObjectSchema, left: string): Schema {
  const { [left]: _left, ...properties } = schema.properties;
  return { ...schema, properties, required: schema.required.filter((name) => name !== left) };
}

const tokens = closed({ input: count, output: count, cached: count, estimated: flag });
const VIEWS = {
  plan: PlanView,
  ps: AgentList,
  show: withoutMember(AgentDetails, "next"),
  step: WholeStep,
  report: ReportFacts,
  why: FileStory,
  diff: DiffView,
  restore: withMembers(RestorePlan, { dryRun: flag }),
  test: closed({
    type: { const: "test" },
    file: text,
    agent: text,
    passed: flag,
    outcome: text,
    reason: text,
    checks: listOf(CheckView),
    step: count,
    costUsd: amount,
    exitCode: count,
    home: { type: ["string", "null"], pattern: "^/" },
    tokens,
  }),
} as const;

const ajv = createAjv({
  allErrors: true,
  strict: true,
  strictTypes: false,
  formats: { "date-time": /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/ },
});
const validators = new Map<string, ValidateFunction>(
  Object.entries(VIEWS).map(([name, schema]) => [name, ajv.compile(strict(schema))]),
);

/** Returns what is wrong with a document; an empty string when nothing is. */
export function problemsOfView(name: keyof typeof VIEWS, document: unknown): string {
  const validate = validators.get(name);
  return validate?.(document) ? "" : ajv.errorsText(validate?.errors);
}

/** The last line of `goald run --json`. Its events are frozen in test/data/golden. */
const RESULT = closed({
  type: { const: "result" },
  agent: text,
  outcome: text,
  reason: text,
  checks: closed({ passed: count, failed: count, notRun: count }),
  step: count,
  modelCalls: count,
  tokens,
  costUsd: amount,
  workspace: { type: "string", pattern: "^/" },
  exitCode: count,
});
const isResult = ajv.compile(RESULT);

/** Returns what is wrong with the last line of a run; an empty string when nothing is. */
export const problemsOfResult = (line: unknown): string =>
  isResult(line) ? "" : `${ajv.errorsText(isResult.errors)} in ${JSON.stringify(line)}`;
