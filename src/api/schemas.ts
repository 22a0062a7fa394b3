/**
 * schemas.ts -- the arguments and results of `Control`, as JSON Schema with TypeScript types. Routes, request
 * validation, OpenAPI and the types of control.ts come from here. Closed requests refuse misspelled members. Replies
 * are open, so clients must accept unknown members.
 */
import { type AgentSettings, REPLY_FORMS } from "#core/agent-settings.ts";
import { MAX_WINDOW_BATCH } from "#core/frames.ts";
import { type GoalCheck, type GoalTest, MAX_CHECKS } from "#core/goal-check.ts";
import { MEMORY_KINDS, TRUSTS } from "#core/memory.ts";
import { MAX_TASK_CHARS, type PlanEdit, TASK_STATES, type TaskChange } from "#core/plan.ts";
import type { MemoryChanged as Changed, MemoryChange } from "#core/ports/memory.ts";
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
  tagged,
  text,
  time,
  typed,
} from "#util/schema.ts";
import { AgentView, agentMembers } from "#views/agent-view.ts";
import { EventView, GivenSources, OutsideSources, ReceivedView } from "#views/parts.ts";

const textUpTo = (maxLength: number): Schema<string> => ({ type: "string", minLength: 1, maxLength });
const whole = (minimum: number, maximum: number): Schema<number> => ({ type: "integer", minimum, maximum });
const kind = <const Kind extends GoalTest["kind"]>(name: Kind): Schema<Kind> => oneOf(name) as Schema<Kind>;
const path = textUpTo(900);
const needsApproval = described(flag, "Code of an agent file: a person is asked once, where run_code asks.");

const GOAL_TESTS: { readonly [Kind in GoalTest["kind"]]: Schema<Extract<GoalTest, { readonly kind: Kind }>> } = {
  file: closed({ kind: kind("file"), path }),
  contains: closed({ kind: kind("contains"), path, text: textUpTo(2_000) }),
  length: closed({ kind: kind("length"), path, min: described(whole(1, 10_000_000), "Characters.") }),
  schema: closed({ kind: kind("schema"), path, schema: typed<Readonly<Record<string, unknown>>>({ type: "object" }) }),
  code: closed({ kind: kind("code"), code: textUpTo(32_768), file: path, needsApproval }, "file", "needsApproval"),
  url: closed(
    { kind: kind("url"), url: textUpTo(2_000), status: described(whole(100, 599), "Absent: any from 200 to 299.") },
    "status",
  ),
  judge: closed({ kind: kind("judge"), question: textUpTo(2_000), paths: listOf(path, { minItems: 1, maxItems: 10 }) }),
};
const GoalTestSchema: Schema<GoalTest> = tagged("kind", ...Object.values<Schema<GoalTest>>(GOAL_TESTS));

/** A check of a goal in a request. `validateAgent` has the rules beyond the shape. */
export const GoalCheckSchema: Schema<GoalCheck> = closed({
  goal: described(nullable(whole(0, 4)), "Index of the goal; null for all goals together."),
  test: GoalTestSchema,
});

const GoalChecks = described(
  listOf(GoalCheckSchema, { maxItems: MAX_CHECKS }),
  "Prove the goals: they run when the agent reports its goals as reached. Absent: none.",
);

const TURNS_WRITING = "\\u202a-\\u202e\\u2066-\\u2069";
/** Matches one line that is not blank and has no control characters. */
const ONE_LINE = `^(?=.*\\S)[^\\p{Cc}\\p{Cs}\\p{Zl}\\p{Zp}${TURNS_WRITING}]+$`;
const MANY_LINES = `^(?:[^\\p{Cc}\\p{Cs}${TURNS_WRITING}]|[\\t\\r\\n])*$`;
const FILLED_LINES = `(?=[\\s\\S]*\\S)${MANY_LINES}`;
const FILLED = "\\S";
/** Says in words what each pattern asks of a text. */
export const PATTERNS: Readonly<Record<string, string>> = {
  [ONE_LINE]: "must be one line without control characters, and not blank",
  [MANY_LINES]: "must be text without control characters",
  [FILLED_LINES]: "must be text without control characters, and not blank",
  [FILLED]: "must not be blank",
};

const key = described(textUpTo(200), "Idempotency: requests with the same key are executed once.");
const name: Schema<string> = { type: "string", minLength: 1, maxLength: 80, pattern: ONE_LINE };
const record: Schema<string> = {
  type: "string",
  maxLength: 4_000,
  pattern: "^/[^\\p{Cc}]+$",
  description: "Absolute path of a file into which all runs of the agent are recorded.",
};
const words: Schema<string> = { type: "string", maxLength: 2_000, pattern: MANY_LINES };
const filledLines: Schema<string> = { ...words, minLength: 1, pattern: FILLED_LINES };
const goals = listOf<string>(filledLines, { minItems: 1, maxItems: 5 });
const graceMs = described(whole(0, 86_400_000), "Milliseconds until the step under way is cut off. Absent: 30,000.");
const reason: Schema<string> = { ...words, minLength: 1 };

/** Schemas of the variable parts of a path, by name. */
export const PARAMS = {
  agent: described(textUpTo(80), "Id of an agent, or its name: then the newest agent of that name is meant."),
  step: whole(0, 1_000_000_000),
  path: described(textUpTo(4_096), "Path in the agent's folder, percent-encoded as one part of the address."),
  memory: described(textUpTo(100), "Id of a memory, or its part after the slash, such as `12` or `+3`."),
};

export const eventNumber = whole(0, Number.MAX_SAFE_INTEGER);
export const pageSize = described(whole(1, 1_000), "Absent: 200; for memories 50, for a search `recall.count`.");

const settings: SchemasOf<AgentSettings> = {
  approve: oneOf("always", "risky", "never"),
  stepLimit: { type: ["integer", "null"], minimum: 1, maximum: 1_000_000_000 },
  tokenLimit: { type: ["integer", "null"], minimum: 1, maximum: Number.MAX_SAFE_INTEGER },
  commands: { type: ["string", "null"], maxLength: 1_000 },
  windowBatch: whole(0, MAX_WINDOW_BATCH),
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

export const Words = closed({ from: name, text: { ...textUpTo(200_000), pattern: FILLED }, key }, "key");
export type Words = Static<typeof Words>;

export const Goals = closed({ goals, checks: GoalChecks }, "checks");
export const Pause = closed({ reason });
const Allowance = closed(
  {
    steps: whole(1, 1e9),
    tokens: whole(1, 1e12),
    timeMs: whole(1, 1e12),
    usd: { ...amount, maximum: 1e9, exclusiveMinimum: 0 },
  },
  ...(["steps", "tokens", "timeMs", "usd"] as const),
);
/** `more`: what the agent may still spend from now on. */
export const Resume = closed({ settings: ChangedSettings, record, more: Allowance }, "settings", "record", "more");
export type Resume = Static<typeof Resume>;
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
    callId: described(textUpTo(200), "Absent: the call that waits now."),
    verdict: oneOf("approved", "denied"),
    count: described(whole(1, 1_000_000), "Commands to approve, with this one."),
    text: described({ type: "string", maxLength: 20_000 } as Schema<string>, "With a denial: feedback for the model."),
    seen: described(
      nullable(textUpTo(64)),
      "`change.against` of the diff that was shown; refused when it is another now.",
    ),
  },
  "callId",
  "count",
  "text",
  "seen",
);
export type ApprovalAnswer = Static<typeof ApprovalAnswer>;

export const Fork = closed(
  {
    step: described(count, "The new agent begins after this step; 0 is before the first."),
    name: described(text, "One line of up to 80 characters. Absent: the name of the other agent."),
    goals: described(goals, "Absent: the goals of the other agent."),
    key,
  },
  "name",
  "goals",
);
export type ForkRequest = Static<typeof Fork>;

export const Removal = closed({ force: flag, files: flag }, "force", "files");

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
  page: described(nullable(text), "Address of the page while its door is open, without a ticket; else null."),
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
export const AgentChanges = open({
  agents: listOf(AgentView),
  removed: described(listOf(text), "Ids of the agents that are gone."),
});

export const ControlResult = open({ agent: AgentView, note: described(text, "What comes of it; may be empty.") });
export type ControlResult = Static<typeof ControlResult>;

export const Removed = open({ id: text, workspace: text });
export type Removed = Static<typeof Removed>;

export const Changes = open({ changes: listOf(text) });

export const DashboardLink = open({ url: text, expiresAt: time });
export type DashboardLink = Static<typeof DashboardLink>;

/** A page asks this before it calls. `nonce`: a random number in hexadecimal digits. */
export const ProofRequest = closed({ nonce: { ...text, pattern: "^[0-9a-f]{32,64}$" } });
/**
 * HMAC-SHA-256 in hexadecimal digits by the secrets of sessions. Each session has one of `proofs`, which is that of
 * `proof PORT SALT NONCE`; that of `key SALT` is its key.
 */
export interface DoorProof {
  readonly salt: string;
  readonly proofs: readonly string[];
}

export const EventPage = open({
  events: listOf(EventView),
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

const memoryId: Schema<string> = { type: "string", minLength: 3, maxLength: 100, pattern: "^[^\\s\\p{Cc}]+$" };
const copies = described(flag, "Also replace or forget every row of the memory that says the same.");
const MemoryAdded = closed(
  {
    op: oneOf("add"),
    copies,
    pinned: flag,
    kind: oneOf(...MEMORY_KINDS),
    text: textUpTo(20_000),
    importance: { type: "number", minimum: 0, maximum: 1 } as Schema<number>,
    trust: oneOf(...TRUSTS),
    supersedes: described(memoryId, "The memory that this one corrects."),
    key,
    source: textUpTo(4_096),
    outside: GivenSources,
    factKey: { type: "string", pattern: "^[0-9a-f]{64}$" } as Schema<string>,
  },
  "copies",
  "pinned",
  "supersedes",
  "key",
  "source",
  "outside",
  "factKey",
);
const MemoryPinned = closed({ op: oneOf("pin", "unpin"), id: memoryId });
const MemoryForgotten = closed({ op: oneOf("forget"), id: memoryId, by: oneOf("person", "source"), copies }, "copies");
export const MemoryChanges = closed({
  changes: listOf<MemoryChange>(tagged("op", MemoryAdded, MemoryPinned, MemoryForgotten), {
    minItems: 1,
    maxItems: 1_000,
  }),
  key,
});

const ChangedRow = open(
  {
    id: text,
    isNew: flag,
    copies: described(listOf(text), "Other rows that were replaced or forgotten, because they say the same."),
    alike: described(
      listOf(text),
      "Rows that resemble it, come from the same event or are the memory of its turn; they were left as they are.",
    ),
  },
  "copies",
  "alike",
);
export const MemoryChanged = open({ changed: listOf<Changed>(ChangedRow) });

const taskId = described(textUpTo(100), "The id of a task, such as 0.1.2; 0 is the task above all others.");
const state = oneOf(...TASK_STATES);
const goal: Schema<string> = { ...filledLines, maxLength: MAX_TASK_CHARS };

export const PlanEdits = closed(
  {
    edits: listOf<PlanEdit>(
      tagged(
        "kind",
        closed({ kind: oneOf("add"), parent: taskId, goal }),
        closed({
          kind: oneOf("set"),
          id: taskId,
          state: described(state, "Of the task and, by the state, of those above or below."),
        }),
      ),
      { minItems: 1, maxItems: 50 },
    ),
    key,
  },
  "key",
);
export type PlanEdits = Static<typeof PlanEdits>;

export const PlanEdited = open({
  agent: AgentView,
  note: text,
  changes: described(
    listOf<TaskChange>(open({ id: text, goal: text, from: nullable(state), to: state })),
    "The tasks whose state changes; `from` is null for a new task.",
  ),
});
export type PlanEdited = Static<typeof PlanEdited>;

export const Trust = closed(
  {
    what: described(oneOf("all", "files"), "`all`: all words from outside that the agent has read until now."),
    paths: listOf<string>(
      described(textUpTo(4_096), "A file, or a folder that came as a whole, relative to the agent's folder."),
      { minItems: 1, maxItems: 100 },
    ),
  },
  "paths",
);
export type Trust = Static<typeof Trust>;

const TrustedEntry = open({
  path: described(nullable(text), "Null for all words that the agent has read."),
  outside: described(OutsideSources, "Whose words are trusted; empty when there were none."),
});
export type TrustedEntry = Static<typeof TrustedEntry>;
export const Trusted = open({
  agent: AgentView,
  note: text,
  trusted: listOf(TrustedEntry),
  received: described(listOf(ReceivedView), "For `all`: since when the agent had read them."),
});
export type Trusted = Static<typeof Trusted>;
