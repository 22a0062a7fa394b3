/** view-schemas.ts -- closed schemas of what verbs print with --json, so that a new or missing field fails a test. */
import type { ValidateFunction } from "ajv";
import { AgentList } from "#api/schemas.ts";
import { TASK_STATES } from "#core/plan.ts";
import { createAjv, flag, listOf, type ObjectSchema, type Schema } from "#util/schema.ts";
import { AgentDetails, CheckView } from "#views/agent-details.ts";
import { DiffView } from "#views/file-diff.ts";
import { FileStory } from "#views/file-story.ts";
import { PlanView } from "#views/plan-view.ts";
import { ReportFacts } from "#views/report-facts.ts";
import { RestorePlan } from "#views/restore-plan.ts";
import { WholeStep } from "#views/whole-step.ts";

const string = { type: "string" } as const;
const bool = { type: "boolean" } as const;
const count = { type: "integer", minimum: 0 } as const;
const positive = { type: "integer", minimum: 1 } as const;
const time = { type: "string", format: "date-time" } as const;
const strings = listOf(string);

type Properties = Readonly<Record<string, Schema>>;

/** Returns a schema of an object with exactly these properties. */
function closed(required: Properties, optional: Properties = {}) {
  const properties = { ...required, ...optional };
  return { type: "object", additionalProperties: false, required: Object.keys(required), properties } as const;
}

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

const tokens = closed({ input: count, output: count, cached: count, estimated: bool });
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
    file: string,
    agent: string,
    passed: bool,
    outcome: string,
    reason: string,
    checks: listOf(CheckView),
    step: count,
    costUsd: { type: "number", minimum: 0 },
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

// The documented NDJSON of `goald run --json` and `goald events --json`.
//
// Each event type and the last line of a run has a closed schema, so that a new, missing or changed field fails a test:
// it changes the interface.

const timeOrNull = { anyOf: [time, { type: "null" }] } as const;
const approve = { enum: ["always", "risky", "never"] } as const;
const stepLimit = { anyOf: [positive, { type: "null" }] } as const;
const usdOrNull = { anyOf: [{ type: "number", minimum: 0 }, { type: "null" }] } as const;
const settings = {
  tokenLimit: stepLimit,
  budgetUsd: usdOrNull,
  commands: { type: ["string", "null"] },
  windowBatch: { type: "integer", minimum: 0, maximum: 40 },
  form: { enum: ["json", "tools", "plan", "react", "code"] },
  plan: { enum: ["free", "required"] },
  deadline: { anyOf: [string, { type: "null" }] },
  model: { anyOf: [string, { type: "null" }] },
  background: bool,
} as const;
/** Text, or a reference to a long text in a blob. */
const text = {
  anyOf: [string, closed({ blob: { type: "string", pattern: "^[0-9a-f]{64}$" }, bytes: positive, head: string })],
} as const;
const usageOfReply = closed(
  { inputTokens: count, outputTokens: count, cachedTokens: count, estimated: bool },
  { allowedTokens: count },
);
const callOfModel = closed({ name: { type: "string", minLength: 1 }, args: { type: "object" } });
const sources = listOf(closed({ from: { enum: ["web", "agent"] }, name: string }, { file: string }));
const script = closed({ file: string, sha256: { type: ["string", "null"] }, code: text });
const observation = closed(
  {
    status: { enum: ["ok", "failed", "denied", "cancelled", "unknown"] },
    text,
    source: { enum: ["goald", "workspace", "person", "web", "agent", "model"] },
    artifacts: strings,
  },
  { code: string, outside: sources, carries: bool, value: {}, asksToEnd: { const: true } },
);
const annotations = closed(
  { readOnly: bool, destructive: bool, idempotent: bool, openWorld: bool },
  { restorable: bool },
);

/** Characters of a memory: first, and the one after the last. */
const ranges = { type: "array", items: { type: "array", items: count, minItems: 2, maxItems: 2 } };
const shown = {
  type: "array",
  items: closed(
    { id: string },
    { ranges, with: listOf(closed({ id: string }, { ranges })), series: strings, others: positive },
  ),
};

const origin = closed(
  { agent: { anyOf: [string, { type: "null" }] }, depth: positive, outside: sources },
  { carries: bool },
);
/** What a call would send out. */
const leaving = closed(
  { to: string },
  {
    carries: closed({
      from: { enum: ["folder", "memory", "person", "agent"] },
      where: string,
      chars: positive,
      excerpt: string,
    }),
    address: string,
    pages: positive,
    ownChars: positive,
    turnChars: positive,
    quotes: closed({ file: string, text: string }),
    isUnknownHost: bool,
    isWithin: bool,
  },
);
const reach = closed({ stepLimit, tokenLimit: stepLimit, budgetUsd: usdOrNull, deadline: timeOrNull });
const spent = closed({ steps: count, tokens: count, usd: { type: "number", minimum: 0 } });
const child = closed({ name: string, role: string, goals: strings, approve, stepLimit }, settings);

interface Shape {
  readonly required: Properties;
  readonly optional?: Properties;
}
const ofStep = { step: positive };
/** Nested ones begin with the id of the call that they are inside of, such as c7.2.c1 and c7.2.m1. */
const CALL_ID = "^c\\d+(-\\d+)?(\\.(\\d+|c\\d+(-\\d+)?))*$";
const MODEL_CALL_ID = "^(m\\d+|c[\\d.c-]+\\.m\\d+)$";
const ofModelCall = { step: positive, callId: { type: "string", pattern: MODEL_CALL_ID } };
const ofCall = { step: positive, callId: { type: "string", pattern: CALL_ID }, call: callOfModel };
const ofNested = { step: positive, callId: ofCall.callId, ordinal: positive, hash: string };
const definitions = { type: "array", items: { type: "array", items: { type: ["string", "null"] } } };
const values = { type: "object", additionalProperties: { type: ["string", "null"] } };

const checksOfGoals = listOf(closed({ goal: { type: ["integer", "null"] }, test: { type: "object" } }));

const EVENTS: Readonly<Record<string, Shape>> = {
  "agent-created": {
    required: { name: string, role: string, goals: strings, approve, stepLimit },
    optional: { ...settings, checks: checksOfGoals, startedBy: origin },
  },
  "settings-changed": { required: {}, optional: { approve, stepLimit, ...settings } },
  "goals-changed": { required: { goals: strings }, optional: { checks: checksOfGoals } },
  "model-asked": {
    required: {
      ...ofModelCall,
      attempt: positive,
      epoch: positive,
      model: string,
      mode: { enum: ["json_schema", "json_object", "plain", "tools", "plan", "react", "code"] },
      requestHash: { type: "string", pattern: "^[0-9a-f]{64}$" },
      recallIds: strings,
      reservedTokens: positive,
    },
    optional: {
      reservedUsd: usdOrNull,
      outside: sources,
      shown,
      folder: string,
      spent: closed({ usage: usageOfReply, costUsd: usdOrNull, modelCalls: count }),
    },
  },
  "model-replied": {
    required: { ...ofModelCall, text, finishReason: string, usage: usageOfReply, durationMs: count },
    optional: { costUsd: usdOrNull },
  },
  "model-failed": {
    required: { ...ofModelCall, code: string, message: string, retryAt: timeOrNull },
    optional: {
      changed: { const: true },
      outage: { const: true },
      fallback: {
        type: "object",
        additionalProperties: false,
        required: ["model", "until"],
        properties: { model: string, until: timeOrNull },
      },
    },
  },
  "reply-rejected": {
    required: { ...ofStep, problems: { ...strings, minItems: 1 } },
    optional: { reasoningTokens: count },
  },
  "command-requested": { required: { ...ofCall, thought: string, repaired: bool }, optional: { leaving } },
  "command-approved": { required: { ...ofCall, by: { enum: ["policy", "person", "earlier-approval"] } } },
  "command-denied": { required: { ...ofCall, by: { enum: ["policy", "person"] }, reason: string } },
  "approval-asked": { required: { ...ofCall, reason: string }, optional: { script } },
  "command-started": {
    required: {
      ...ofCall,
      attempt: positive,
      epoch: positive,
      effect: { enum: ["pure", "idempotent", "transactional", "reconcilable", "at-most-once"] },
      annotations,
    },
    optional: { prepared: {}, outside: sources, reserved: closed({ tokens: count, usd: usdOrNull }) },
  },
  "call-interrupted": { required: { ...ofCall, epoch: positive } },
  "call-cut-off": { required: { ...ofCall, epoch: positive } },
  "call-isolated": { required: { ...ofCall, epoch: positive } },
  "call-cleared": { required: ofCall },
  "repetition-noticed": {
    required: { step: positive, callId: ofCall.callId, count: positive },
    optional: { call: callOfModel },
  },
  "command-waiting": {
    required: { ...ofCall, waitFor: { enum: ["time", "approval", "person", "agent"] }, until: timeOrNull },
    optional: { spent: closed({ usage: usageOfReply, costUsd: usdOrNull, modelCalls: positive }) },
  },
  "command-finished": {
    required: { ...ofCall, observation, durationMs: count },
    optional: {
      reconciled: { const: true },
      closesTurn: { const: true },
      downloadedBytes: positive,
      spent: closed({ usage: usageOfReply, costUsd: usdOrNull, modelCalls: positive }),
    },
  },
  "frame-pushed": {
    required: { ...ofNested, kind: { enum: ["call", "run"] } },
    optional: { call: callOfModel, task: text, returns: { type: "object" }, form: settings.form, outside: sources },
  },
  "frame-popped": {
    required: { ...ofNested, resultSeq: stepLimit },
    optional: { call: callOfModel, problem: closed({ code: string, text: string }) },
  },
  "namespace-saved": {
    required: {
      step: positive,
      callId: ofCall.callId,
      version: string,
      definitions,
      values,
      lost: listOf(closed({ name: string, reason: string })),
    },
    optional: {
      call: callOfModel,
      outside: sources,
      change: closed({ definitions, values }),
      carries: closed({ from: string, where: string }),
    },
  },
  "methods-found": {
    required: { step: positive, callId: ofCall.callId, names: strings },
    optional: { call: callOfModel },
  },
  "approvals-granted": { required: { count: positive } },
  "words-trusted": { required: { what: { enum: ["all", "file"] } }, optional: { path: string } },
  "message-received": { required: { from: string, text } },
  "files-restored": {
    required: {
      toStep: count,
      more: count,
      changes: listOf(closed({ path: string, change: { enum: ["written", "removed"] } })),
    },
  },
  "agent-paused": { required: { code: string, reason: string } },
  "agent-resumed": { required: {} },
  "task-added": {
    required: { parent: string, task: { type: "object" }, by: { enum: ["agent", "person"] } },
    optional: { step: positive, callId: ofCall.callId, call: callOfModel },
  },
  "task-changed": {
    required: { id: string, state: { enum: [...TASK_STATES] }, by: { enum: ["agent", "person"] } },
    optional: { step: positive, callId: ofCall.callId, call: callOfModel },
  },
  "goals-checked": {
    required: {
      step: positive,
      callId: ofCall.callId,
      results: listOf(closed({ check: count, isPassed: bool, proof: string })),
    },
    optional: { call: callOfModel },
  },
  "turn-remembered": {
    required: {
      turn: positive,
      step: count,
      asked: strings,
      artifacts: strings,
      output: string,
      callsLeftOut: count,
      calls: listOf(closed({ name: string, input: string })),
    },
    optional: { outside: sources },
  },
  "turn-started": { required: { turn: { type: "integer", minimum: 2 } } },
  "agent-started": { required: { ...ofCall, agent: string, task: string, child } },
  "agent-told": { required: { ...ofCall, agent: string, text, reach } },
  "agent-ended": { required: { agent: string, reason: string } },
  "agent-reported": {
    required: {
      agent: string,
      standing: { enum: ["finished", "paused", "ended", "accounts"] },
      tasksReceived: positive,
      spent,
    },
    optional: { observation },
  },
  "task-received": { required: { from: string, text, outside: sources }, optional: { carries: bool } },
  "turn-finished": { required: { outcome: { const: "completed" }, reason: string }, optional: { carries: bool } },
};

const RESULT = closed({
  type: { const: "result" },
  agent: string,
  outcome: string,
  reason: string,
  checks: closed({ passed: count, failed: count, notRun: count }),
  step: count,
  modelCalls: count,
  tokens,
  costUsd: { type: "number", minimum: 0 },
  workspace: { type: "string", pattern: "^/" },
  exitCode: count,
});
const isResult = ajv.compile(RESULT);
const eventValidators = new Map<string, ValidateFunction>(
  Object.entries(EVENTS).map(([type, { required, optional }]) => {
    const stamp = { v: { const: 1 }, seq: positive, at: time, frame: count, type: { const: type } };
    return [type, ajv.compile(closed({ ...stamp, ...required }, optional))];
  }),
);

/** Returns what is wrong with one event; an empty string when nothing is. */
export function problemsOfEvent(line: unknown): string {
  const type = typeof line === "object" && line !== null && "type" in line ? String(line.type) : "";
  const isEvent = eventValidators.get(type);
  return isEvent ? problemsBy(isEvent, line) : `There is no event of type ${JSON.stringify(type)}.`;
}

/** Returns what is wrong with the last line of a run; an empty string when nothing is. */
export const problemsOfResult = (line: unknown): string => problemsBy(isResult, line);

const problemsBy = (validate: ValidateFunction, line: unknown): string =>
  validate(line) ? "" : `${ajv.errorsText(validate.errors)} in ${JSON.stringify(line)}`;
