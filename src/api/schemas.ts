/**
 * schemas.ts -- the arguments and results of `Control`, as JSON Schema with TypeScript types.
 *
 * Routes, request validation, OpenAPI and the types of control.ts come from here. Closed requests refuse misspelled
 * members. Replies are open, so clients must accept unknown members.
 */
import { type AgentSettings, REPLY_FORMS } from "#core/agent-settings.ts";
import type { RecordedEvent as Recorded } from "#core/event.ts";
import { MAX_WINDOW_BATCH } from "#core/frames.ts";
import {
  amount,
  closed,
  count,
  described,
  flag,
  listOf,
  nullable,
  type ObjectSchema,
  oneOf,
  open,
  type Schema,
  type SchemasOf,
  type Static,
  text,
  time,
  typed,
} from "#util/schema.ts";
import { AgentCounts, AgentView, agentMembers } from "#views/agent-view.ts";
import { GoalChecks } from "./check-schemas.ts";

// ---------------------------------------------------------------- values

const TURNS_WRITING = "\\u202a-\\u202e\\u2066-\\u2069";
/** Matches one line that is not blank and has no control characters. */
const ONE_LINE = `^(?=.*\\S)[^\\p{Cc}\\p{Cs}\\p{Zl}\\p{Zp}${TURNS_WRITING}]+$`;
const MANY_LINES = `^(?:[^\\p{Cc}\\p{Cs}${TURNS_WRITING}]|[\\t\\r\\n])*$`;

export const key: Schema<string> = {
  type: "string",
  minLength: 1,
  maxLength: 200,
  description: "Idempotency: requests with the same key are executed once.",
};
const name: Schema<string> = { type: "string", minLength: 1, maxLength: 80, pattern: ONE_LINE };
const record: Schema<string> = {
  type: "string",
  maxLength: 4_000,
  pattern: "^/[^\\p{Cc}]+$",
  description: "Absolute path of a file into which all runs of the agent are recorded.",
};
const words: Schema<string> = { type: "string", maxLength: 2_000, pattern: MANY_LINES };
/** Text of several lines that is not blank. */
export const filledLines: Schema<string> = { ...words, minLength: 1, pattern: `(?=[\\s\\S]*\\S)${MANY_LINES}` };
const goals = listOf<string>(filledLines, { minItems: 1, maxItems: 5 });
const graceMs: Schema<number> = {
  type: "integer",
  minimum: 0,
  maximum: 86_400_000,
  description: "Milliseconds that the step under way may take; then it is cut off.",
};
const reason: Schema<string> = { ...words, minLength: 1 };

/** Schemas of the variable parts of a path, by name. */
export const PARAMS = {
  agent: {
    type: "string",
    minLength: 1,
    maxLength: 80,
    description: "Id of an agent, or its name: then the newest agent of that name is meant.",
  } as Schema<string>,
  step: { type: "integer", minimum: 0, maximum: 1_000_000_000 } as Schema<number>,
  path: {
    type: "string",
    minLength: 1,
    maxLength: 4_096,
    description: "Path in the agent's folder, percent-encoded as one part of the address.",
  } as Schema<string>,
  memory: {
    type: "string",
    minLength: 1,
    maxLength: 100,
    description: "Id of a memory, or its part after the slash, such as `12` or `+3`.",
  } as Schema<string>,
};

export const eventNumber: Schema<number> = { type: "integer", minimum: 0, maximum: Number.MAX_SAFE_INTEGER };
export const pageSize: Schema<number> = { type: "integer", minimum: 1, maximum: 1_000 };

// ---------------------------------------------------------------- requests

const settings: SchemasOf<AgentSettings> = {
  approve: oneOf("always", "risky", "never"),
  stepLimit: { type: ["integer", "null"], minimum: 1, maximum: 1_000_000_000 },
  tokenLimit: { type: ["integer", "null"], minimum: 1, maximum: Number.MAX_SAFE_INTEGER },
  commands: { type: ["string", "null"], minLength: 1, maxLength: 1_000, pattern: "^[a-z0-9_, ]+$" },
  windowBatch: { type: "integer", minimum: 0, maximum: MAX_WINDOW_BATCH },
  form: oneOf(...REPLY_FORMS),
  plan: oneOf("free", "required"),
  budgetUsd: { type: ["number", "null"], minimum: 0, maximum: 1_000_000_000 },
  deadline: nullable(time),
  model: { type: ["string", "null"], minLength: 1, maxLength: 200, pattern: "^[^\\s\\p{Cc}]+$" },
  background: flag,
};
const LIMITS = ["tokenLimit", "budgetUsd", "deadline"] as const;
const OPTIONAL = [...LIMITS, "commands", "windowBatch", "form", "plan", "model", "background"] as const;

export const ChangedSettings = closed({ ...settings }, "approve", "stepLimit", ...OPTIONAL);
export const GivenSettings = closed({ ...settings }, ...OPTIONAL);
export const SettingsChange: typeof ChangedSettings = { ...ChangedSettings, minProperties: 1 };

/** `settings.background` defaults to true. Without it, the agent goes on only while somebody follows it. */
export const NewAgent = closed(
  { name, role: words, goals, checks: GoalChecks, settings: GivenSettings, key, record },
  "checks",
  "key",
  "record",
);
export type NewAgent = Static<typeof NewAgent>;

export const Words = closed({ from: name, text: sized(1, 200_000), key }, "key");
export type Words = Static<typeof Words>;

export const Goals = closed({ goals, checks: GoalChecks }, "checks");
export const Pause = closed({ reason });
export const Resume = closed({ settings: ChangedSettings, record }, "settings", "record");
export const NextTurn = closed(
  { goals, checks: GoalChecks, settings: ChangedSettings, record, key },
  "checks",
  "settings",
  "record",
  "key",
);
export type NextTurn = Static<typeof NextTurn>;
export const Grace = closed({ graceMs }, "graceMs");
export const Nothing = closed({});

export const ApprovalAnswer = closed(
  {
    callId: described(sized(1, 200), "Absent: the call that waits now."),
    verdict: oneOf("approved", "denied"),
    count: {
      type: "integer",
      minimum: 1,
      maximum: 1_000_000,
      description: "Commands to approve, with this one.",
    } as Schema<number>,
    text: described(sized(0, 20_000), "With a denial: feedback for the model."),
  },
  "callId",
  "count",
  "text",
);
export type ApprovalAnswer = Static<typeof ApprovalAnswer>;

export const Fork = closed(
  {
    step: described(count, "The new agent begins after this step; 0 is before the first."),
    name: described(text, "Absent: the name of the other agent."),
    goals: described(goals, "Absent: the goals of the other agent."),
    key,
  },
  "name",
  "goals",
);
export type ForkRequest = Static<typeof Fork>;

export const Removal = closed({ force: flag, files: flag }, "force", "files");

export function sized(minLength: number, maxLength: number): Schema<string> {
  return { type: "string", ...(minLength > 0 ? { minLength } : {}), maxLength };
}

// ---------------------------------------------------------------- replies

const ModelServer = open({
  origin: text,
  limit: count,
  active: count,
  queued: count,
  closedUntil: described(nullable(time), "Until then the server asked not to be called; null when it may be."),
});

export const DaemonStatus = open({
  pid: count,
  version: text,
  protocol: count,
  startedAt: time,
  home: text,
  stopping: flag,
  agents: AgentCounts,
  eventLoopDelayMs: described(open({ p50: amount, p99: amount, max: amount }), "Of the last minute."),
  rssBytes: count,
  modelServers: listOf(ModelServer),
  cage: nullable(open({ level: oneOf("strict", "degraded", "off"), reason: text, advice: text })),
  sandbox: described(
    open({
      ready: flag,
      level: nullable(oneOf("strict", "degraded")),
      reason: text,
    }),
    "Runs code of agents. Null level: it was not looked for yet. The reason says what holds, or what to do when it is not ready.",
  ),
  followers: described(count, "Clients that follow an event stream."),
  connections: described(listOf(text), "Salted digests of addresses, models, keys and proxies."),
  problems: described(listOf(text), "Degraded functions, a sentence each."),
});
export type DaemonStatus = Static<typeof DaemonStatus>;

export const ForkedAgent = open({
  ...agentMembers,
  events: described(count, "Number of events that it begins with."),
  files: described(count, "Number of files that it begins with."),
});
export type ForkedAgent = Static<typeof ForkedAgent>;

export const AgentList = open({ agents: listOf(AgentView) });

export const ControlResult = open({ agent: AgentView, note: described(text, "Empty when all is as requested.") });
export type ControlResult = Static<typeof ControlResult>;

export const Removed = open({ id: text, workspace: text });
export type Removed = Static<typeof Removed>;

export const Changes = open({ changes: listOf(text) });

export const RecordedEvent = described(
  typed<Recorded>(open({ v: count, seq: { type: "integer", minimum: 1 }, at: time, frame: count, type: text })),
  "One event of an agent's log; each type has members of its own.",
);

export const EventPage = open({
  events: listOf(RecordedEvent),
  head: described(count, "Number of the last event of the agent, in this page or not."),
});
export type EventPage = Static<typeof EventPage>;
export const EventsQuery = closed(
  { after: eventNumber, limit: pageSize, live: flag, hold: flag },
  "after",
  "limit",
  "live",
  "hold",
);

export const Accepted = open({});
export const OpenApiDocument = open({ openapi: text, info: open({ title: text, version: text }) });
export const ErrorReply: ObjectSchema = open({ error: open({ code: text, message: text, hint: text }) });
