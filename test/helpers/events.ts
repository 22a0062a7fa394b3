/** Builders of events. `log(...)` numbers and stamps them. */
import { createHash } from "node:crypto";
import type { AgentSettings } from "#core/agent-settings.ts";
import type { Annotations, Effect, Observation } from "#core/call.ts";
import { decide, type Rules } from "#core/decide.ts";
import { EVENT_VERSION, type EventOf, type NewEvent, type RecordedEvent } from "#core/event.ts";
import { replay } from "#core/evolve.ts";
import type { NewMemory } from "#core/ports/memory.ts";
import type { AgentSpec, Commit, FileChange, FileVersion, InboxMessage, Store } from "#core/ports/store.ts";
import type { AgentState } from "#core/state.ts";

export const AT = "2026-11-20T10:00:00.000Z";
/** The time of decisions: 30 seconds after the first event. */
export const NOW = new Date("2026-11-20T10:00:30.000Z");

const stamp = (event: NewEvent, seq: number, at: string): RecordedEvent =>
  ({ frame: 0, ...event, v: EVENT_VERSION, seq, at }) as RecordedEvent;
/** Stamps events as the writer does: numbered from 1, one second apart. */
export const log = (...events: readonly NewEvent[]): readonly RecordedEvent[] =>
  events.map((event, index) => stamp(event, index + 1, later(index)));

/** Events of a request to the model, or of a command, with the usual ids of their step. */
const ofStep =
  (prefix: "m" | "c") =>
  <T extends NewEvent["type"]>(type: T, step: number, rest: Omit<EventOf<T>, "type" | "step" | "callId">) =>
    ({ type, step, callId: `${prefix}${step}`, ...rest }) as EventOf<T>;
const ofModel = ofStep("m");
export const ofCommand = ofStep("c");

export const created = (settings: Partial<AgentSettings> = {}): EventOf<"agent-created"> => ({
  type: "agent-created",
  name: "Foo",
  role: "an AI that recommends tennis equipment",
  goals: ["Find three strings", "Write them down"],
  approve: "never",
  stepLimit: null,
  ...settings,
});
export const asked = (step = 1, attempt = 1, epoch = 1) =>
  ofModel("model-asked", step, {
    attempt,
    epoch,
    model: "test-model",
    mode: "plain",
    requestHash: "0".repeat(64),
    recallIds: [],
    reservedTokens: 100,
  });
export const replied = (step = 1, text = "{}") =>
  ofModel("model-replied", step, {
    text,
    finishReason: "stop",
    usage: { inputTokens: 10, outputTokens: 5, cachedTokens: 2, estimated: false },
    durationMs: 20,
  });
export const modelFailed = (step = 1, retryAt: string | null = "2026-11-20T10:01:00.000Z", code = "server-error") =>
  ofModel("model-failed", step, { code, message: "The server answered 500.", retryAt });
export const rejected = (step = 1): EventOf<"reply-rejected"> => ({
  type: "reply-rejected",
  step,
  problems: ["No JSON object was found."],
});
export const requested = (
  name = "write_to_file",
  step = 1,
  args: Readonly<Record<string, unknown>> = { file: "a.txt", text: "a" },
) => ofCommand("command-requested", step, { call: { name, args }, thought: "I write it down.", repaired: false });
export const approved = (step = 1, by: EventOf<"command-approved">["by"] = "policy") =>
  ofCommand("command-approved", step, { by });
export const FACTS: Annotations = { readOnly: false, destructive: false, idempotent: false, openWorld: false };
export const started = (effect: Effect = "idempotent", step = 1, epoch = 1) =>
  ofCommand("command-started", step, { attempt: 1, epoch, effect, annotations: FACTS, prepared: null });
export const interrupted = (epoch = 2, step = 1) => ofCommand("call-interrupted", step, { epoch });
export const isolated = (epoch = 2, step = 1) => ofCommand("call-isolated", step, { epoch });
export const cutOff = (epoch = 1, step = 1) => ofCommand("call-cut-off", step, { epoch });
export const observed = (text = "done", change: Partial<Observation> = {}): Observation => ({
  status: "ok",
  text,
  source: "goald",
  artifacts: [],
  ...change,
});
export const finished = (step = 1, observation: Observation = observed()) =>
  ofCommand("command-finished", step, { observation, durationMs: 3 });
/** Returns one whole step that writes a file. */
export const wholeStep = (step: number, name = "write_to_file"): readonly NewEvent[] => [
  asked(step),
  replied(step, `reply ${step}`),
  requested(name, step),
  approved(step),
  started("idempotent", step),
  finished(step, observed(`result ${step}`)),
];

export const denied = (reason = "", by: "policy" | "person" = "policy", step = 1) =>
  ofCommand("command-denied", step, { by, reason });
export const approvalAsked = (step = 1) => ofCommand("approval-asked", step, { reason: "" });
export const approvalsGranted = (count: number): NewEvent => ({ type: "approvals-granted", count });
export const waits = (waitFor: EventOf<"command-waiting">["waitFor"], until: string | null = null, step = 1) =>
  ofCommand("command-waiting", step, { waitFor, until });
export const said = (text: string, from = "ada"): NewEvent => ({ type: "message-received", from, text });
export const paused = (code: EventOf<"agent-paused">["code"] = "person", reason = ""): NewEvent => ({
  type: "agent-paused",
  code,
  reason,
});
export const RESUMED: NewEvent = { type: "agent-resumed" };
export const turnEnded = (reason = "done"): NewEvent => ({ type: "turn-finished", outcome: "completed", reason });
export const turnStarted = (turn = 2): NewEvent => ({ type: "turn-started", turn });

/** The state after these events; the first one creates the agent. */
export const stateOf = (...events: readonly NewEvent[]): AgentState => replay(log(...events));
/** The rules of a process with the second lease, whose commands are pure. */
export const rulesOf = (change: Partial<Rules> = {}): Rules => ({
  epoch: 2,
  facts: () => ({ annotations: FACTS, effect: "pure" }),
  ...change,
});
/** What an agent does next after these events. */
export const decided = (events: readonly NewEvent[], change: Partial<Rules> = {}) =>
  decide(stateOf(...events), rulesOf(change), NOW);

// Builders for store tests: stamped events, commits, file changes.

export const SPEC: AgentSpec = { name: "Foo", role: "a tester", goals: ["One"], approve: "never", stepLimit: 9 };
export const NOTHING: Commit = { events: [], consumed: [], memories: [], files: [], blobs: [], staged: [] };
export const words = (text: string): InboxMessage => ({ type: "say", from: "ada", text });
/** Returns the time `seconds` after the agents of these tests were created. */
export const later = (seconds: number): string => new Date(Date.parse(AT) + seconds * 1000).toISOString();
/** Stamps events as the journal does, numbered from `first`. */
export const stamped = (first: number, ...events: readonly NewEvent[]): readonly RecordedEvent[] =>
  events.map((event, index) => stamp(event, first + index, later(first + index)));
export const memoryOf = (seq: number, text = `memory ${seq}`): NewMemory => ({
  seq,
  step: 1,
  namespace: "foo",
  kind: "step",
  text,
  importance: 0.25,
  trust: "agent",
});
export const sha256 = (bytes: string | Uint8Array): string => createHash("sha256").update(bytes).digest("hex");
export const bytesOf = (text: string): Uint8Array => new TextEncoder().encode(text);
export const wrote = (
  path: string,
  text: string | null,
  callId = "c1",
): FileChange & { step: number; callId: string } => {
  const content = text === null ? null : bytesOf(text);
  const operation = content ? "write" : "delete";
  return { path, operation, bytes: content?.length ?? 0, sha256: content && sha256(content), content, step: 1, callId };
};

/** Reads everything that is visible through the store's interface. */
export const readEverything = async (store: Store) => {
  const agents = await store.agents();
  const ids = agents.map(({ id }) => id);
  const of = <T>(read: (id: string) => Promise<T>): Promise<T[]> => Promise.all(ids.map(read));
  return {
    agents,
    logs: await of((id) => store.read(id, 0, 1000)),
    inboxes: await of((id) => store.inbox(id)),
    memories: await of((id) => store.memories(id, 0, 1000)),
    files: await of((id) => store.files(id)),
    loaded: await of((id) => store.load(id, 1)),
    due: await store.due(later(100_000)),
    blob: await store.blob(sha256("kept")),
  };
};

// Builds a file history as the store has it, from a list of changes.

export type Change = readonly [
  step: number,
  path: string,
  operation: FileVersion["operation"],
  content: string | Uint8Array,
  callId?: string,
];

export function historyOf(changes: readonly Change[]): {
  readonly versions: readonly FileVersion[];
  readonly store: { blob(sha256: string): Promise<Uint8Array | undefined> };
} {
  const blobs = new Map<string, Uint8Array>();
  const sizes = new Map<string, number>();
  const versions = changes.map(([step, path, operation, content, callId = `c${step}`], index): FileVersion => {
    const of = { path, operation, step, callId, at: later(index) };
    if (operation === "delete") {
      sizes.delete(path);
      return { ...of, bytes: 0, sha256: null };
    }
    const piece = Buffer.from(content);
    const hash = sha256(piece);
    blobs.set(hash, piece);
    const bytes = piece.length + (operation === "append" ? (sizes.get(path) ?? 0) : 0);
    sizes.set(path, bytes);
    return { ...of, bytes, sha256: hash };
  });
  return { versions, store: { blob: async (sha256) => blobs.get(sha256) } };
}
