/**
 * schemas.ts -- the words of the local API as JSON Schema: what comes in is checked by them, what goes out is documented.
 *
 * The types are those of daemon/control.ts; the tests hold both to the same members. Objects that come in are
 * closed, so that a slip of the pen is refused and not ignored; those that go out are open: a client
 * must bear members that it does not know.
 */
import { MAX_WINDOW_BATCH } from "#core/state.ts";

export type Schema = Readonly<Record<string, unknown>>;
export interface ObjectSchema extends Schema {
  readonly type: "object";
  readonly required: readonly string[];
  readonly properties: Readonly<Record<string, Schema>>;
}

/** Names in `optional` may be absent; all others are required. */
const open = (properties: Readonly<Record<string, Schema>>, ...optional: readonly string[]): ObjectSchema => ({
  type: "object",
  required: Object.keys(properties).filter((name) => !optional.includes(name)),
  properties,
});
export const closed = (properties: Readonly<Record<string, Schema>>, ...optional: readonly string[]): ObjectSchema => ({
  ...open(properties, ...optional),
  additionalProperties: false,
});
const listOf = (items: Schema): Schema => ({ type: "array", items });
const nullable = (schema: Schema): Schema => ({ ...schema, type: [schema.type, "null"] });

// ---------------------------------------------------------------- values

const TURNS_WRITING = "\\u202a-\\u202e\\u2066-\\u2069";
/** One line, not blank, and nothing in it that acts instead of being read. */
const ONE_LINE = `^(?=.*\\S)[^\\p{Cc}\\p{Cs}\\p{Zl}\\p{Zp}${TURNS_WRITING}]+$`;
const MANY_LINES = `^(?:[^\\p{Cc}\\p{Cs}${TURNS_WRITING}]|[\\t\\r\\n])*$`;

const text: Schema = { type: "string" };
const flag: Schema = { type: "boolean" };
const count: Schema = { type: "integer", minimum: 0 };
const amount: Schema = { type: "number", minimum: 0 };
const time: Schema = { type: "string", format: "date-time" };
const key: Schema = {
  type: "string",
  minLength: 1,
  maxLength: 200,
  description: "Idempotency: what comes again with the same key is done once.",
};
const name: Schema = { type: "string", minLength: 1, maxLength: 80, pattern: ONE_LINE };
/** Absolute path of a recording. */
const record: Schema = { type: "string", maxLength: 4_000, pattern: "^/[^\\p{Cc}]+$" };
const words: Schema = { type: "string", maxLength: 2_000, pattern: MANY_LINES };
const goals: Schema = {
  type: "array",
  minItems: 1,
  maxItems: 5,
  items: { ...words, minLength: 1, pattern: `(?=[\\s\\S]*\\S)${MANY_LINES}` },
};
export const agentName: Schema = {
  type: "string",
  minLength: 1,
  maxLength: 80,
  description: "Id of an agent, or its name: then the newest of that name is meant.",
};
export const eventNumber: Schema = { type: "integer", minimum: 0, maximum: Number.MAX_SAFE_INTEGER };
export const graceMs: Schema = {
  type: "integer",
  minimum: 0,
  maximum: 86_400_000,
  description: "How long the step under way may take, in milliseconds; then it is cut off.",
};
export const pageSize: Schema = { type: "integer", minimum: 1, maximum: 1_000 };
export const yesOrNo = flag;

// ---------------------------------------------------------------- in

const settingsOf = {
  approve: { type: "string", enum: ["always", "risky", "never"] },
  stepLimit: { type: ["integer", "null"], minimum: 1, maximum: 1_000_000_000 },
  tokenLimit: { type: ["integer", "null"], minimum: 1, maximum: Number.MAX_SAFE_INTEGER },
  windowBatch: { type: "integer", minimum: 0, maximum: MAX_WINDOW_BATCH },
  budgetUsd: { type: ["number", "null"], minimum: 0, maximum: 1_000_000_000 },
  deadline: nullable(time),
  model: { type: ["string", "null"], minLength: 1, maxLength: 200, pattern: "^[^\\s\\p{Cc}]+$" },
  background: flag,
} as const;

const allSettings = Object.keys(settingsOf);
export const ChangedSettings = closed(settingsOf, ...allSettings);
const GivenSettings = closed(settingsOf, ...allSettings.filter((each) => each !== "approve" && each !== "stepLimit"));
export const SettingsChange = { ...ChangedSettings, minProperties: 1 };
export const NewAgent = closed({ name, role: words, goals, settings: GivenSettings, key, record }, "key", "record");
export const Words = closed({ from: name, text: { type: "string", minLength: 1, maxLength: 200_000 }, key }, "key");
export const Goals = closed({ goals });
export const Pause = closed({ reason: { ...words, minLength: 1 } });
export const Resume = closed({ settings: ChangedSettings, record }, "settings", "record");
export const Grace = closed({ graceMs }, "graceMs");
export const Nothing = closed({});
export const Answer = closed(
  {
    callId: { type: "string", minLength: 1, maxLength: 200 },
    verdict: { type: "string", enum: ["approved", "denied"] },
    count: { type: "integer", minimum: 1, maximum: 1_000_000 },
    text: { type: "string", maxLength: 20_000 },
  },
  "callId",
  "count",
  "text",
);

const memoryId: Schema = { type: "string", minLength: 3, maxLength: 100, pattern: "^[^\\s\\p{Cc}]+$" };
const of = (...values: readonly string[]): Schema => ({ type: "string", enum: values });
const MemoryAdded = closed(
  {
    op: of("add"),
    kind: of("step", "fact", "note", "file_chunk", "reflection"),
    text: { type: "string", minLength: 1, maxLength: 20_000 },
    importance: { type: "number", minimum: 0, maximum: 1 },
    trust: of("person", "agent", "goald", "file", "web"),
    supersedes: memoryId,
    key,
    source: { type: "string", minLength: 1, maxLength: 4_096 },
  },
  ...["supersedes", "key", "source"],
);
const MemoryPinned = closed({ op: of("pin", "unpin"), id: memoryId });
const MemoryForgotten = closed({ op: of("forget"), id: memoryId, by: of("person", "source") });
const oneChange = { anyOf: [MemoryAdded, MemoryPinned, MemoryForgotten] };
export const Fork = closed({ step: count, name: text, goals, key }, "name", "goals");
export const MemoryChanges = closed({
  changes: { type: "array", minItems: 1, maxItems: 1_000, items: oneChange },
  key,
});

// ---------------------------------------------------------------- out

const agentCounts = { running: count, waiting: count, paused: count, finished: count, stalled: count };
export const DaemonStatus = open({
  pid: count,
  version: text,
  protocol: count,
  role: { type: "string", enum: ["daemon", "foreground"] },
  startedAt: time,
  home: text,
  stopping: flag,
  agents: open(agentCounts),
  eventLoopDelayMs: open({ p50: amount, p99: amount, max: amount }),
  rssBytes: count,
  modelServers: listOf(open({ origin: text, limit: count, active: count, queued: count, closedUntil: nullable(time) })),
  embeddings: open({ model: text, tokens: count, tokensPerDay: nullable(count), usd: nullable(amount) }),
  followers: count,
  problems: listOf(text),
});
export const AgentView = open({
  id: text,
  name: text,
  parent: { ...nullable(text), description: "Id of the agent that started it; null for a person's." },
  state: { ...text, description: "`running`, `interrupted`, `waiting: approval`, `paused: budget`, `completed` …" },
  reason: nullable(text),
  step: count,
  turn: count,
  tokens: count,
  costUsd: amount,
  background: flag,
  stalledMs: nullable(count),
  lastCommand: nullable(text),
  createdAt: time,
  changedAt: time,
  workspace: { ...text, description: "Absolute path." },
});
export const ForkedAgent = open({ ...AgentView.properties, events: count, files: count });
export const AgentList = open({ agents: listOf(AgentView) });
export const Done = open({ agent: AgentView, note: { ...text, description: "Empty when all is as asked." } });
export const Removed = open({ id: text, workspace: text });
export const MemoryChanged = open({ changed: listOf(open({ id: text, isNew: flag })) });
export const Changes = open({ changes: listOf(text) });
export const RecordedEvent = {
  ...open({ v: count, seq: { type: "integer", minimum: 1 }, at: time, frame: count, type: text }),
  description: "One event of an agent's log; each type has members of its own.",
};
export const EventsQuery = closed({ after: eventNumber, limit: pageSize, live: yesOrNo }, "after", "limit", "live");

export const EventPage = open({ events: listOf(RecordedEvent), head: count });
export const Accepted = open({});
export const OpenApiDocument = open({ openapi: text, info: open({ title: text, version: text }) });
export const ErrorReply = open({ error: open({ code: text, message: text, hint: text }) });

/** Those that have a name of their own in the OpenAPI document. */
export const NAMED: Readonly<Record<string, Schema>> = {
  DaemonStatus,
  AgentView,
  AgentList,
  Done,
  Removed,
  Changes,
  RecordedEvent,
  EventPage,
  ErrorReply,
  GivenSettings,
  ChangedSettings,
  NewAgent,
  Words,
  Goals,
  Answer,
};
