/**
 * view-schemas.ts -- the documented JSON of the reading verbs: ps, show, report, why, diff, restore.
 *
 * Each has a closed schema, so that a new, missing or changed field fails a test: it changes the interface.
 */
import type { ValidateFunction } from "ajv";
import { createAjv } from "#util/schema.ts";
import { bool, closed, count, positive, string, strings, time } from "./schema-parts.ts";

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
  workspace: absolute,
  parent: orNull(string),
  received,
};

const checks = list(closed({ goal: orNull(count), check: string, isPassed: orNull(bool), proof: string }));

const waiting = orNull(
  closed({
    ...{ agent: string, name: string, kind: { enum: ["approval", "question"] }, since: time, step: count },
    ...{ callId: string, command: call, reason: orNull(string), question: orNull(string), until: orNull(time) },
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
    ...{ closing: orNull(string), since: count, lastThought: string, hasUnpriced: bool, lastEventAt: time },
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
