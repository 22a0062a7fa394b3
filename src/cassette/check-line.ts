/**
 * check-line.ts -- checks the lines of a recording before anything of them is played.
 *
 * A recording may come from anybody. Numbers have limits, since a replay counts up to some of them.
 */
import type { ValidateFunction } from "ajv";
import { createAjv } from "#util/schema.ts";
import type { Line } from "./format.ts";

/** A replay claims the agent once for each lease that the run did not have. */
const MAX_EPOCH = 10_000;
/** Clock readings of one command. */
const MAX_READINGS = 1_000_000;
/** The last time that a Date can hold. */
const MAX_TIME = 8.64e15;

const text = { type: "string" } as const;
const count = { type: "integer", minimum: 0, maximum: 2 ** 31 } as const;
const readings = { ...count, maximum: MAX_READINGS } as const;
const clock = { type: "array", items: { type: "integer", minimum: -MAX_TIME, maximum: MAX_TIME } } as const;
const time = { type: "string", pattern: "^\\d{4}-\\d\\d-\\d\\dT[\\d:.]{5,12}Z$" } as const;

const listOf = (items: object): object => ({ type: "array", items });
const open = (properties: Readonly<Record<string, object>>, ...optional: readonly string[]): object => ({
  type: "object",
  required: Object.keys(properties).filter((name) => !optional.includes(name)),
  properties,
});

const holdsBody = [{ required: ["json"] }, { required: ["text"] }, { required: ["base64"] }];
const body = { type: "object", properties: { text, base64: text }, anyOf: holdsBody };
const file = {
  ...open({ path: text, sha256: text, gone: { const: true }, text, base64: text }, "sha256", "gone", "text", "base64"),
  anyOf: [...holdsBody, { required: ["gone"] }],
};
const files = listOf(file);
const typed = listOf(open({ type: text }));
const errors = listOf(open({ name: text, message: text, code: text, hint: text }, "code", "hint"));
const change = open({
  path: text,
  operation: text,
  bytes: count,
  content: { anyOf: [body, { type: "null" }] },
  step: count,
  callId: text,
});

const object = { type: "object" } as const;
const orNull = (schema: object): object => ({ anyOf: [schema, { type: "null" }] });
const asks = [
  open({ what: { const: "call" }, name: text, args: object }),
  open({ what: { const: "run" }, task: text, returns: object, form: orNull(text) }),
  open({ what: { const: "list" } }),
  open({ what: { const: "read" }, path: text }),
  open({ what: { const: "save" }, changes: listOf(open({ path: text, content: orNull(body) })) }),
];
const isCut = { type: "boolean" } as const;
const problem = open({ kind: text, type: text, message: text, line: orNull(count), source: orNull(text) });
const ended = {
  output: text,
  isCut,
  saved: orNull(
    open({ version: text, definitions: listOf(listOf(text)), values: { type: "object", additionalProperties: text } }),
  ),
  lost: listOf(open({ name: text, reason: text })),
  durationMs: { type: "number" },
};
const outcome = {
  anyOf: [
    open({ kind: { const: "done" }, ...ended, value: orNull(open({ text })), stop: orNull(object) }),
    open({ kind: { const: "failed" }, ...ended, problem }),
  ],
};

const SCHEMAS: Readonly<Record<Line["type"], object>> = {
  session: open(
    {
      agent: open({ id: text, createdAt: time }),
      name: text,
      role: text,
      goals: listOf(text),
      given: { type: "object" },
      epoch: { ...count, minimum: 1, maximum: MAX_EPOCH },
      head: count,
      settings: { type: "object" },
      services: listOf(text),
      catalogue: text,
      pause: open({ code: text, reason: text }),
      files,
    },
    "services",
    "pause",
  ),
  answer: open({
    port: { enum: ["model", "embedder", "statuses"] },
    step: count,
    attempt: count,
    ordinal: count,
    request: open({ sha256: text }),
    answer: { anyOf: [{ type: "object", required: ["value"] }, open({ error: errors })] },
  }),
  inbox: open({ call: count, rows: listOf(open({ key: text, message: open({ type: text }), at: time })) }),
  files: open({ call: count, step: count, files }),
  outcome: open({
    step: count,
    callId: text,
    attempt: count,
    events: typed,
    staged: listOf({ type: "object" }),
    changes: listOf(change),
    files,
    readings,
  }),
  nested: open({ callId: text, attempt: count, push: typed, readings }),
  "cell-ask": open({ version: text, ask: { anyOf: asks } }),
  "cell-end": open({ version: text, outcome }),
  value: open({ name: text, call: count }),
  wait: open({ waitFor: text, until: { anyOf: [text, { type: "null" }] }, goesOn: { type: "boolean" } }),
  commit: open({ after: count, events: listOf(text), sha256: text, clock }),
  committed: open({ head: count, state: text }),
  end: open({ head: count, state: text, clock, files: { type: "object", additionalProperties: text } }),
};

let validators: Readonly<Record<string, ValidateFunction>> | undefined;

function compile(): Readonly<Record<string, ValidateFunction>> {
  const ajv = createAjv({ strict: false });
  return Object.fromEntries(Object.entries(SCHEMAS).map(([type, schema]) => [type, ajv.compile(schema)]));
}

/** Returns what is wrong with a line, as the end of a sentence; undefined for a valid line. */
export function findLineProblem(line: unknown): string | undefined {
  validators ??= compile();
  const { type } = (line ?? {}) as { readonly type?: unknown };
  const validate = typeof type === "string" && Object.hasOwn(validators, type) ? validators[type] : undefined;
  if (!validate) return "has no type that goald knows";
  if (validate(line)) return isInTime(line as Line) ? undefined : "has a time out of range";
  const [error] = validate.errors ?? [];
  return `is a line of type ${type} whose ${error?.instancePath.slice(1) || "content"} ${error?.message}`;
}

/** The first time is since 1970, the others are differences. */
function isInTime(line: Line): boolean {
  if (!("clock" in line)) return true;
  let at = 0;
  return line.clock.every((step) => {
    at += step;
    return Math.abs(at) <= MAX_TIME;
  });
}
