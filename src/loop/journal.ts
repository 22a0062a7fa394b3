/**
 * journal.ts -- writes one agent's log: holds the state and the events that are not durable yet.
 *
 * `record` stamps events, folds them and adds them to the draft; `commit` makes the draft durable as one unit, and only
 * then publishes it. `record` replaces long texts by blob references, so that the live state equals the state folded
 * from the store.
 */
import { createHash } from "node:crypto";
import type { CommandCall } from "#core/call.ts";
import { GoaldError } from "#core/errors.ts";
import { EVENT_VERSION, type NewEvent, type PauseCode, type RecordedEvent } from "#core/event.ts";
import { evolve, replay } from "#core/evolve.ts";
import { frameOwning } from "#core/frames.ts";
import { receive } from "#core/inbox.ts";
import type { OutgoingText } from "#core/policy.ts";
import type { Clock } from "#core/ports/clock.ts";
import type { NewMemory } from "#core/ports/memory.ts";
import type { Commit, CommittedFile, FileVersion, InboxMessage, Lease, StagedWrite, Store } from "#core/ports/store.ts";
import type { LastChange } from "#core/provenance.ts";
import { type AgentState, activeFrame, initialState, isFinished, STATE_VERSION } from "#core/state.ts";
import { STAGED_FIELDS } from "#core/stored-event.ts";
import { stageMessages } from "#core/subagent-messages.ts";
import { type BlobRef, HEAD_CHARS, type Text } from "#core/text.ts";
import { EVENT_MARKS, storeValue } from "./stored-values.ts";

// The interface through which the loop asks egress.ts what calls would send out.

/** Returns one entry for each call when it is requested; undefined when the call is within the rule. */
export type DescribeLeaving = (
  calls: readonly CommandCall[],
  journal: Pick<Journal, "state" | "lease" | "head" | "eventsAfter" | "read" | "lastFileVersion">,
) => Promise<readonly (OutgoingText | undefined)[]>;

// Pauses an agent from outside its main loop, while nothing of it is under way.

/** Consumes the inbox before the pause: an unread resume would undo it. Resolves to the state after the pause. */
export async function pauseAgent(
  lease: Lease,
  parts: JournalParts,
  why: { readonly code: PauseCode; readonly reason: string },
): Promise<AgentState> {
  const journal = await openJournal(lease, parts);
  const earlier = journal.state.paused;
  await journal.receiveInbox();
  const wasPaused = earlier !== null && journal.state.paused === earlier;
  if (!wasPaused && !isFinished(journal.state)) journal.record({ events: [{ type: "agent-paused", ...why }] });
  await journal.commit(null);
  return journal.state;
}

/** Snapshots can be rare: refolding 60,000 events takes about 0.1 s. */
const SNAPSHOT_EVERY_EVENTS = 256;

export interface JournalParts {
  readonly store: Pick<Store, "load" | "commit" | "inbox" | "blob" | "read" | "lastFileVersion">;
  readonly clock: Clock;
  /** The memory rows for an event, given the state before it. Pure but for `read`, which returns a whole text. */
  remember(before: AgentState, event: RecordedEvent, read: Journal["read"]): Promise<readonly NewMemory[]>;
  /** Removes known secrets from a text before it is stored, sent to a model or remembered. */
  scrub(text: string): string;
  /** Called after each commit, never before: everything shown is durable. */
  onCommitted(events: readonly RecordedEvent[], state: AgentState): void;
  /** Called after a commit with the agents that it started or sent messages to. */
  onSent?(agents: readonly string[]): void;
  /** Called once with the loaded state, before the first write. */
  onOpened?(state: AgentState): void;
}

/** Events, and the files and writes that must become durable with them. */
export interface Outcome {
  readonly events: readonly NewEvent[];
  readonly files?: readonly CommittedFile[];
  readonly staged?: readonly StagedWrite[];
}

export interface Journal {
  readonly state: AgentState;
  readonly lease: Lease;
  record(outcome: Outcome): void;
  /** Turns the rows of the inbox into events. */
  receiveInbox(): Promise<void>;
  /** Makes everything recorded durable. `wakeAt`: ISO time of the next run, null for none, absent for no change. */
  commit(wakeAt?: string | null | "now"): Promise<void>;
  /** Returns the whole text, from its blob if it has one. */
  read(text: Text): Promise<string>;
  /** Removes known secrets, as `record` does. */
  scrub(text: string): string;
  /** Number of the last event, durable or not. */
  readonly head: number;
  /** Number of the last durable event. */
  readonly durable: number;
  /** Events with seq > `after`, oldest first; fewer than `limit` means the end. */
  eventsAfter(after: number, limit: number): Promise<readonly RecordedEvent[]>;
  /** The newest change of a path of this agent, recorded or committed. `seq`: its event; infinity while it is not committed. */
  lastFileVersion(path: string): Promise<LastChange | undefined>;
  /** Throws GOALD_STORE_DAMAGED when the log has no such event. */
  eventAt(seq: number): Promise<RecordedEvent>;
}

interface Draft {
  readonly events: RecordedEvent[];
  readonly consumed: string[];
  /** The state before each event: its memories are made when it is committed. */
  readonly befores: AgentState[];
  readonly files: Commit["files"][number][];
  readonly blobs: Uint8Array[];
  readonly staged: StagedWrite[];
}
const emptyDraft = (): Draft => ({ events: [], consumed: [], befores: [], files: [], blobs: [], staged: [] });
const joinDrafts = (one: Draft, other: Draft): Draft => ({
  events: [...one.events, ...other.events],
  consumed: [...one.consumed, ...other.consumed],
  befores: [...one.befores, ...other.befores],
  files: [...one.files, ...other.files],
  blobs: [...one.blobs, ...other.blobs],
  staged: [...one.staged, ...other.staged],
});

export async function openJournal(lease: Lease, parts: JournalParts): Promise<Journal> {
  const { store, clock } = parts;
  const loaded = await store.load(lease.agent, STATE_VERSION);
  let state = replay(loaded.events, (loaded.snapshot?.state as AgentState | undefined) ?? initialState);
  parts.onOpened?.(state);
  /** The last durable event, and the last recorded one. */
  let head = loaded.head;
  let last = loaded.head;
  let snapshotAt = loaded.snapshot?.seq ?? 0;
  let draft = emptyDraft();
  /** The draft that is being committed. What is recorded meanwhile belongs to the next one. */
  let leaving = emptyDraft();
  let committing: Promise<unknown> = Promise.resolve();
  /** Texts of both drafts' blobs, by hash. The store may not have them yet. */
  const fresh = new Map<string, string>();

  function record(outcome: Outcome): void {
    const at = clock.now().toISOString();
    for (const event of outcome.events) {
      const seq = ++last;
      const frame = frameOf(event, state);
      const stamped = { frame, ...named(event, lease.agent), v: EVENT_VERSION, seq, at } as RecordedEvent;
      const recorded = storeValue(stamped, EVENT_MARKS[stamped.type], { scrub: parts.scrub, spill }) as RecordedEvent;
      draft.events.push(recorded);
      draft.befores.push(state);
      state = evolve(state, recorded);
      draft.staged.push(...stageMessages(recorded, state, lease.agent));
    }
    draft.files.push(...(outcome.files ?? []));
    for (const write of outcome.staged ?? [])
      draft.staged.push(storeValue(write, STAGED_FIELDS[write.kind], { scrub: parts.scrub }) as StagedWrite);
  }

  function spill(text: string): BlobRef {
    const bytes = Buffer.from(text);
    const sha256 = createHash("sha256").update(bytes).digest("hex");
    draft.blobs.push(bytes);
    fresh.set(sha256, text);
    return { blob: sha256, bytes: bytes.length, head: text.slice(0, HEAD_CHARS).toWellFormed() };
  }

  async function receiveInbox(): Promise<void> {
    for (const row of await store.inbox(lease.agent)) {
      if (draft.consumed.includes(row.key) || leaving.consumed.includes(row.key)) continue;
      const path = trustedPath(row.message);
      const trusted = path === undefined ? undefined : trustRow(path, await lastFileVersion(path), state.step);
      // The words of a deleted file are gone.
      if (path === undefined || trusted)
        record({ events: receive(row.message, state, row.at), files: trusted ? [trusted] : [] });
      draft.consumed.push(row.key);
    }
  }

  async function lastFileVersion(path: string): Promise<LastChange | undefined> {
    const isOfPath = (file: CommittedFile): boolean => file.path === path;
    const waiting = draft.files.findLast(isOfPath) ?? leaving.files.findLast(isOfPath);
    return waiting ? { ...waiting, seq: Number.POSITIVE_INFINITY, at: null } : store.lastFileVersion(lease.agent, path);
  }

  /** One draft at a time, in the order of the calls. */
  function commit(wakeAt?: string | null | "now"): Promise<void> {
    const done = committing.then(() => commitDraft(wakeAt));
    committing = done.catch(() => undefined);
    return done;
  }

  async function commitDraft(wakeAt: string | null | "now" | undefined): Promise<void> {
    if (draft.events.length === 0 && draft.consumed.length === 0) return;
    leaving = draft;
    draft = emptyDraft();
    const committed = state;
    const { befores, ...written } = leaving;
    const newHead = head + written.events.length;
    const wantsSnapshot = newHead - snapshotAt >= SNAPSHOT_EVERY_EVENTS;
    const snapshot = wantsSnapshot ? { snapshot: { version: STATE_VERSION, state: committed } } : {};
    const wake = wakeAt === undefined ? {} : { wakeAt: wakeAt === "now" ? clock.now().toISOString() : wakeAt };
    try {
      const rows = written.events.map((event, at) => parts.remember(befores[at] as AgentState, event, read));
      await store.commit(lease, head, { ...written, memories: (await Promise.all(rows)).flat(), ...snapshot, ...wake });
    } catch (error) {
      draft = joinDrafts(leaving, draft);
      leaving = emptyDraft();
      throw error;
    }
    head = newHead;
    if (wantsSnapshot) snapshotAt = newHead;
    leaving = emptyDraft();
    if (draft.blobs.length === 0) fresh.clear();
    if (written.events.length > 0) parts.onCommitted(written.events, committed);
    const receivers = written.staged.flatMap(receiverOf);
    if (receivers.length > 0) parts.onSent?.(receivers);
  }

  async function eventsAfter(after: number, limit: number): Promise<readonly RecordedEvent[]> {
    const stored = after < head ? await store.read(lease.agent, after, Math.min(limit, head - after)) : [];
    const unsaved = [...leaving.events, ...draft.events].filter(({ seq }) => seq > after);
    return [...stored, ...unsaved].slice(0, limit);
  }

  async function eventAt(seq: number): Promise<RecordedEvent> {
    const [event] = await eventsAfter(seq - 1, 1);
    if (event?.seq === seq) return event;
    throw new GoaldError("GOALD_STORE_DAMAGED", `${lease.agent} needs its event ${seq}, which is not in the store.`, {
      hint: "See what else is missing: goald verify",
    });
  }

  async function read(text: Text): Promise<string> {
    if (typeof text === "string") return text;
    const waiting = fresh.get(text.blob);
    if (waiting !== undefined) return waiting;
    const bytes = await store.blob(text.blob);
    if (bytes) return Buffer.from(bytes).toString("utf8");
    throw new GoaldError(
      "GOALD_STORE_DAMAGED",
      `A text of ${text.bytes} bytes that ${lease.agent} needs is not in the store (blob ${text.blob}).`,
      {
        hint: "See what else is missing: goald verify",
      },
    );
  }

  return {
    get state() {
      return state;
    },
    get head() {
      return last;
    },
    get durable() {
      return head;
    },
    lease,
    record,
    receiveInbox,
    commit,
    read,
    scrub: parts.scrub,
    lastFileVersion,
    eventAt,
    eventsAfter,
  };
}

const receiverOf = (write: StagedWrite): readonly string[] =>
  write.kind === "send" ? [write.to] : write.kind === "spawn" && write.spec.id !== undefined ? [write.spec.id] : [];

/** The frame of the event's call; for an event without an open call the innermost frame. */
function frameOf(event: NewEvent, state: AgentState): number {
  const owner = "callId" in event ? frameOwning(state, event.callId) : undefined;
  return (owner ?? activeFrame(state)).id;
}

/** Replaces `<agent>` in a pause reason by the id, so that the commands in it can be pasted. */
const named = (event: NewEvent, agent: string): NewEvent =>
  event.type === "agent-paused" ? { ...event, reason: event.reason.replaceAll("<agent>", agent) } : event;

// The row of the file history that says that a person trusts the words of a path. Pure.

/** `last`: the newest version of the path; undefined for a file in a placed folder. Undefined for a deleted file. */
function trustRow(
  path: string,
  last: Pick<FileVersion, "operation" | "bytes" | "sha256"> | undefined,
  step: number,
): CommittedFile | undefined {
  if (last?.operation === "delete") return undefined;
  const { bytes, sha256 } = last ?? { bytes: 0, sha256: null };
  return { path, operation: "trust", bytes, sha256, content: null, step, callId: "" };
}

/** The path whose words the message trusts; undefined for any other message. */
const trustedPath = (message: InboxMessage): string | undefined =>
  message.type === "trust" && message.what === "file" ? message.path : undefined;
