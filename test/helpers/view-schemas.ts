/** view-schemas.ts -- closed schemas of what verbs print with --json, so that a new or missing field fails a test. */
import type { ValidateFunction } from "ajv";
import { TASK_STATES } from "#core/plan.ts";
import { createAjv } from "#util/schema.ts";

const string = { type: "string" } as const;
const bool = { type: "boolean" } as const;
const count = { type: "integer", minimum: 0 } as const;
const positive = { type: "integer", minimum: 1 } as const;
const time = { type: "string", pattern: "^\\d{4}-\\d\\d-\\d\\dT\\d\\d:\\d\\d:\\d\\d\\.\\d{3}Z$" } as const;
const strings = { type: "array", items: string } as const;

type Properties = Readonly<Record<string, object>>;

/** Returns a schema of an object with exactly these properties. */
function closed(required: Properties, optional: Properties = {}) {
  const properties = { ...required, ...optional };
  return { type: "object", additionalProperties: false, required: Object.keys(required), properties } as const;
}

// The documented JSON of the reading verbs: ps, show, report, why, diff, restore.
//
// Each has a closed schema, so that a new, missing or changed field fails a test: it changes the interface.

const number = { type: "number", minimum: 0 } as const;
const absolute = { type: "string", pattern: "^/" } as const;
const sha256 = { type: "string", pattern: "^[0-9a-f]{64}$" } as const;
const list = (items: object) => ({ type: "array", items }) as const;
const orNull = (schema: object) => ({ anyOf: [schema, { type: "null" }] }) as const;
const byWhom = { enum: ["agent", "person"] } as const;
const operation = { enum: ["write", "append", "delete", "found", "place", "trust"] } as const;

const usage = { inputTokens: count, outputTokens: count, cachedTokens: count, estimated: bool };
const lost = closed({ tokens: count, usd: number });
const limits = list(
  closed({
    limit: { enum: ["steps", "tokens", "usd", "time"] },
    allowed: { anyOf: [number, time] },
    used: number,
    spent: number,
    left: number,
  }),
);
const call = closed({ name: string, args: { type: "object" } });
const thoughts = closed({ text: string, reasoning: string, plan: string, criticism: string, speak: string });
const sourceNames = { from: { enum: ["web", "agent"] }, name: string };
const outside = list(closed(sourceNames, { file: string }));
const received = list(closed({ ...sourceNames, step: count, at: time }, { file: string }));
const trusted = list(closed({ path: orNull(string), at: time }));
const source = {
  kind: { enum: ["workspace", "web", "agent", "person"] },
  what: string,
  command: orNull(string),
  step: count,
  at: time,
  outside,
  kept: strings,
  answer: string,
};
const fileVersion = closed(
  {
    ...{ path: string, operation, step: count, callId: string, at: time, bytes: count },
    sha256: orNull(sha256),
  },
  { outside },
);

const view = {
  ...{ id: string, name: string, reason: orNull(string), step: count, turn: positive, tokens: count, costUsd: number },
  ...{
    background: bool,
    stalledMs: orNull(count),
    until: orNull(time),
    lastCommand: orNull(string),
    createdAt: time,
    changedAt: time,
  },
  state: {
    type: "string",
    pattern: "^(running|interrupted|waiting: \\w+|paused: [\\w-]+|stopped|killed|ended|completed|damaged)$",
  },
  standing: closed({
    kind: { enum: ["running", "interrupted", "waiting", "paused", "over", "damaged"] },
    cause: string,
  }),
  now: closed({
    ...{ kind: { enum: ["thinking", "running", "waiting", "resting"] } },
    ...{ command: string, subject: string, thought: string },
  }),
  closing: string,
  budget: orNull(closed({ allowedUsd: number, spentUsd: number, reservedUsd: number })),
  head: count,
  workspace: absolute,
  parent: orNull(string),
  received,
};

const checks = list(closed({ goal: orNull(count), check: string, isPassed: orNull(bool), proof: string }));

const waiting = orNull(
  closed({
    ...{ agent: string, name: string, kind: { enum: ["approval", "question"] }, since: time, step: count },
    ...{ callId: string, command: call, reason: orNull(string), question: orNull(string), until: orNull(time) },
    ...{ thought: string, change: { type: "null" } },
    code: orNull(closed({ file: orNull(string), sha256: orNull(string), text: string })),
    ...{ received, files: list(closed({ path: string, outside: outside })) },
  }),
);

const task = closed({
  ...{ id: { type: "string", pattern: "^0(\\.\\d+)*$" }, goal: string },
  state: { enum: ["open", "in_progress", "completed", "verified", "abandoned"] },
  subtasks: list({ $ref: "#/$defs/task" }),
});

const state = {
  ...view,
  ...{ role: string, goals: strings, checks, settings: { type: "object" }, limits, lost },
  usage: closed({ ...usage, modelCalls: count }),
  files: list(closed({ path: string, operation, step: count, bytes: count, at: time, by: byWhom, changes: positive })),
};

const SCHEMAS = {
  plan: {
    $defs: { task },
    ...closed({
      ...{ agent: string, turn: positive, current: orNull(string), isRead: bool },
      plan: orNull({ $ref: "#/$defs/task" }),
    }),
  },
  ps: closed({ agents: list(closed(view)) }),
  show: closed({ ...state, lastThought: string, waiting, trusted, agents: list(closed(view)) }),
  step: closed({
    ...{ agent: string, name: string, step: positive, turn: positive, startedAt: time, endedAt: time, goals: strings },
    attempts: list(
      closed({
        ...{ at: time, seq: positive, attempt: positive, model: string, mode: string, requestHash: sha256 },
        ...{ reservedTokens: count, reservedUsd: orNull(number) },
        failure: orNull(closed({ code: string, message: string, retryAt: orNull(time) })),
      }),
    ),
    recallIds: strings,
    recalls: list(closed({ id: string, step: count, at: time, kind: string, trust: string, text: string })),
    prompt: closed({
      messages: list(closed({ role: { enum: ["system", "user", "assistant"] }, content: string })),
      exact: bool,
      note: string,
    }),
    reply: orNull(
      closed({
        ...{ at: time, seq: positive, text: string, finishReason: string, durationMs: count },
        ...{ usage: closed(usage), costUsd: orNull(number) },
      }),
    ),
    problems: strings,
    thoughts: orNull(thoughts),
    command: orNull(call),
    thought: string,
    repaired: bool,
    approval: closed({
      ...{ asked: orNull(string), verdict: orNull({ enum: ["approved", "denied"] }) },
      ...{ by: orNull(string), reason: orNull(string) },
    }),
    starts: list(
      closed({ at: time, seq: positive, attempt: positive, effect: string, annotations: { type: "object" } }),
    ),
    interruptions: count,
    planChanges: list(closed({ seq: positive, id: string, goal: string, state: string, isNew: bool, subtasks: count })),
    checks: list(closed({ seq: positive, check: count, isPassed: bool, proof: string })),
    result: orNull(
      closed({
        ...{ at: time, seq: positive, status: string, code: orNull(string), source: string, artifacts: strings },
        ...{ text: string, durationMs: count, reconciled: bool },
      }),
    ),
    spent: orNull(closed({ usage: closed(usage), costUsd: orNull(number), modelCalls: positive })),
    nested: closed({
      rows: list(
        closed({
          ...{ callId: string, lastCallId: string, parent: orNull(string), depth: count, step: positive },
          ...{ kind: { enum: ["call", "sub-task", "step"] }, command: string, about: string, times: positive },
          ...{ status: orNull(string), problem: string, startedAt: time, durationMs: orNull(count) },
          ...{ tokens: count, costUsd: orNull(number) },
        }),
      ),
      leftOut: list(closed({ command: string, times: positive })),
      ...{ calls: count, steps: count, tokens: count, costUsd: orNull(number) },
    }),
    files: list(fileVersion),
  }),
  report: closed({
    ...state,
    next: closed({ why: string, todo: list(closed({ text: string, command: string })) }),
    ...{ since: count, lastThought: string, hasUnpriced: bool, lastEventAt: time },
    turns: list(closed({ turn: positive, at: time, reason: string })),
    sources: list(closed({ ...source, times: positive })),
    troubles: { type: "object", additionalProperties: positive },
    lastTroubles: list(closed({ kind: string, step: count, at: time, what: string, reason: string })),
    helpers: closed({ agents: count, steps: count, tokens: count, usd: number }),
    events: positive,
  }),
  test: closed({
    ...{ type: { const: "test" }, file: string, agent: string, passed: bool, outcome: string, reason: string },
    ...{ checks, step: count, costUsd: number, exitCode: count, home: orNull(absolute) },
    tokens: closed({ input: count, output: count, cached: count, estimated: bool }),
  }),
  why: closed({
    trusted,
    ...{ agent: string, name: string, path: string, workspace: absolute },
    versions: list(
      closed({
        ...{ version: positive, step: count, callId: string, at: time, operation, by: byWhom, bytes: count },
        ...{
          sha256: orNull(sha256),
          goals: strings,
          command: orNull(call),
          cell: orNull(
            closed({
              ...{ callId: string, command: string, file: orNull(string) },
              ...{ line: orNull(positive), source: string },
            }),
          ),
          thought: string,
          thoughts: orNull(thoughts),
        },
        outside,
        ...{ recalledSteps: list(count), sources: list(closed(source)), sourcesLeftOut: count, received },
      }),
    ),
  }),
  diff: closed({
    ...{ agent: string, from: count, to: orNull(count) },
    files: list(
      closed({
        ...{ path: string, change: { enum: ["added", "removed", "changed"] }, fromBytes: count, toBytes: count },
        ...{ added: orNull(count), removed: orNull(count), patch: orNull(string), note: string },
        editedByPerson: list(count),
      }),
    ),
  }),
  restore: closed({
    ...{ agent: string, step: count, lastStep: count, dryRun: bool, workspace: absolute },
    clones: list(closed({ path: string, isThere: bool })),
    files: list(
      closed({
        ...{ path: string, action: { enum: ["write", "remove", "keep"] } },
        ...{ bytesNow: orNull(count), bytes: orNull(count) },
      }),
    ),
  }),
} as const;

const ajv = createAjv({ allErrors: true, strict: true, strictTypes: false });
const validators = new Map<string, ValidateFunction>(
  Object.entries(SCHEMAS).map(([name, schema]) => [name, ajv.compile(schema)]),
);

/** Returns what is wrong with a document; an empty string when nothing is. */
export function problemsOfView(name: keyof typeof SCHEMAS, document: unknown): string {
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
const sources = {
  type: "array",
  items: closed({ from: { enum: ["web", "agent"] }, name: string }, { file: string }),
};
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
    { ranges, with: { type: "array", items: closed({ id: string }, { ranges }) }, series: strings, others: positive },
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

const checksOfGoals = {
  type: "array",
  items: closed({ goal: { type: ["integer", "null"] }, test: { type: "object" } }),
};

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
      ...{ step: positive, callId: ofCall.callId, version: string },
      ...{ definitions, values, lost: { type: "array", items: closed({ name: string, reason: string }) } },
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
      ...{ toStep: count, more: count },
      changes: {
        type: "array",
        items: closed({ path: string, change: { enum: ["written", "removed"] } }),
      },
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
      ...{ step: positive, callId: ofCall.callId },
      results: { type: "array", items: closed({ check: count, isPassed: bool, proof: string }) },
    },
    optional: { call: callOfModel },
  },
  "turn-remembered": {
    required: {
      ...{ turn: positive, step: count, asked: strings, artifacts: strings, output: string, callsLeftOut: count },
      calls: { type: "array", items: closed({ name: string, input: string }) },
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
  tokens: closed({ input: count, output: count, cached: count, estimated: bool }),
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
