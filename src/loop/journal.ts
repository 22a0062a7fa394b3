/**
 * journal.ts -- writes one agent's log: holds the state and the events that are not durable yet. `record` stamps
 * events, folds them and adds them to the draft; `commit` makes the draft durable as one unit, and only then publishes
 * it. `record` replaces long texts by blob references, so that the live state equals the state folded from the store.
 */
import { hash } from "node:crypto";
import type { CommandCall } from "#core/call.ts";
import { GoaldError } from "#core/errors.ts";
import { EVENT_VERSION, type EventOf, type NewEvent, type RecordedEvent } from "#core/event.ts";
import { evolve, replay } from "#core/evolve.ts";
import { frameOwning } from "#core/frames.ts";
import { eventsForMessage } from "#core/inbox.ts";
import type { OutgoingText } from "#core/policy.ts";
import type { Clock } from "#core/ports/clock.ts";
import type { NewMemory } from "#core/ports/memory.ts";
import type { Commit, CommittedFile, InboxMessage, Lease, StagedWrite, Store } from "#core/ports/store.ts";
import type { LastChange } from "#core/provenance.ts";
import { type AgentState, activeFrame, initialState, isFinished, STATE_VERSION } from "#core/state.ts";
import { EVENT_FIELDS, type FieldMarks, type Mark, STAGED_FIELDS } from "#core/stored-event.ts";
import { stageMessages } from "#core/subagent-messages.ts";
import { type BlobRef, HEAD_CHARS, isBlobRef, SPILL_BYTES, type Text, wellFormed } from "#core/text.ts";

/** Returns one entry for each call when it is requested; undefined when the call is within the rule. */
export type CheckOutgoing = (
  calls: readonly CommandCall[],
  journal: Pick<Journal, "state" | "lease" | "head" | "eventsAfter" | "read" | "lastFileVersion">,
) => Promise<readonly (OutgoingText | undefined)[]>;

export type PauseReason = Pick<EventOf<"agent-paused">, "code" | "reason">;

/**
 * Pauses an agent from outside its main loop, while nothing of it is under way. Consumes the inbox before the pause: an
 * unread resume would undo it. Resolves to the state after the pause.
 */
export async function pauseAgent(lease: Lease, parts: JournalParts, why: PauseReason): Promise<AgentState> {
  const journal = await openJournal(lease, parts);
  await journal.receiveInbox(why);
  if (!journal.state.paused && !isFinished(journal.state))
    journal.record({ events: [{ type: "agent-paused", ...why }] });
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
  const journal = new Journal(lease, parts, await parts.store.load(lease.agent, STATE_VERSION));
  parts.onOpened?.(journal.state);
  return journal;
}

export class Journal {
  readonly lease: Lease;
  /** Removes known secrets, as `record` does. */
  readonly scrub: JournalParts["scrub"];
  readonly #parts: JournalParts;
  #state: AgentState;
  #head: number;
  #durable: number;
  /** Number of the last event that a snapshot holds. */
  #snapshotAt: number;
  #draft = emptyDraft();
  /** The draft that is being committed. What is recorded meanwhile belongs to the next one. */
  #committing = emptyDraft();
  /** Settles after the last commit that was asked for. */
  #lastCommit: Promise<unknown> = Promise.resolve();
  /** Texts of both drafts' blobs, by hash. The store may not have them yet. */
  readonly #fresh = new Map<string, string>();

  constructor(lease: Lease, parts: JournalParts, { events, snapshot, head }: Awaited<ReturnType<Store["load"]>>) {
    this.lease = lease;
    this.scrub = parts.scrub;
    this.#parts = parts;
    this.#state = replay(events, (snapshot?.state as AgentState | undefined) ?? initialState);
    this.#head = head;
    this.#durable = head;
    this.#snapshotAt = snapshot?.seq ?? 0;
  }

  get state(): AgentState {
    return this.#state;
  }

  /** Number of the last event, durable or not. */
  get head(): number {
    return this.#head;
  }

  /** Number of the last durable event. */
  get durable(): number {
    return this.#durable;
  }

  record(outcome: Outcome): void {
    const { agent } = this.lease;
    const { scrub } = this;
    const at = this.#parts.clock.now().toISOString();
    for (const event of outcome.events) {
      const seq = ++this.#head;
      const frame = frameOf(event, this.#state);
      const stamped = { frame, ...named(event, agent), v: EVENT_VERSION, seq, at } as RecordedEvent;
      const storing = { scrub, spill: (text: string) => this.#spill(text) };
      const recorded = storeValue(stamped, EVENT_MARKS[stamped.type], storing) as RecordedEvent;
      this.#draft.events.push(recorded);
      this.#draft.befores.push(this.#state);
      this.#state = evolve(this.#state, recorded);
      this.#draft.staged.push(...stageMessages(recorded, this.#state, agent));
    }
    this.#draft.files.push(...(outcome.files ?? []));
    for (const write of outcome.staged ?? [])
      this.#draft.staged.push(storeValue(write, STAGED_FIELDS[write.kind], { scrub }) as StagedWrite);
  }

  #spill(text: string): BlobRef {
    const bytes = Buffer.from(text);
    const sha256 = hash("sha256", bytes);
    this.#draft.blobs.push(bytes);
    this.#fresh.set(sha256, text);
    return { blob: sha256, bytes: bytes.length, head: text.slice(0, HEAD_CHARS).toWellFormed() };
  }

  /** Turns the rows of the inbox into events. `why`: the reason that a pause among them is recorded with. */
  async receiveInbox(why?: PauseReason): Promise<void> {
    for (const row of await this.#parts.store.inbox(this.lease.agent)) {
      if (this.#draft.consumed.includes(row.key) || this.#committing.consumed.includes(row.key)) continue;
      const path = trustedPath(row.message);
      const { step } = this.#state;
      const trusted = path === undefined ? undefined : trustRow(path, await this.lastFileVersion(path), step);
      // The words of a deleted file are gone.
      if (path === undefined || trusted) {
        const events = eventsForMessage(row.message, this.#state, row.at).map((event) =>
          event.type === "agent-paused" ? { ...event, ...why } : event,
        );
        this.record({ events, files: trusted ? [trusted] : [] });
      }
      this.#draft.consumed.push(row.key);
    }
  }

  /** The newest change of a path of this agent, recorded or committed. `seq`: its event; infinity while it is not committed. */
  readonly lastFileVersion = async (path: string): Promise<LastChange | undefined> => {
    const isOfPath = (file: CommittedFile): boolean => file.path === path;
    const waiting = this.#draft.files.findLast(isOfPath) ?? this.#committing.files.findLast(isOfPath);
    if (waiting) return { ...waiting, seq: Number.POSITIVE_INFINITY, at: null };
    return this.#parts.store.lastFileVersion(this.lease.agent, path);
  };

  /**
   * Makes everything recorded durable, one draft at a time, in the order of the calls. `wakeAt`: ISO time of the next run, null
   * for none, absent for no change.
   */
  commit(wakeAt?: string | null | "now"): Promise<void> {
    const done = this.#lastCommit.then(() => this.#commitDraft(wakeAt));
    this.#lastCommit = done.catch(() => undefined);
    return done;
  }

  async #commitDraft(wakeAt: string | null | "now" | undefined): Promise<void> {
    // A time to wake at counts too: an earlier commit may have said "now".
    const isEmpty = this.#draft.events.length === 0 && this.#draft.consumed.length === 0;
    if (isEmpty && (wakeAt === undefined || wakeAt === "now")) return;
    const parts = this.#parts;
    this.#committing = this.#draft;
    this.#draft = emptyDraft();
    const committed = this.#state;
    const { befores, ...written } = this.#committing;
    const newHead = this.#durable + written.events.length;
    const wantsSnapshot = newHead - this.#snapshotAt >= SNAPSHOT_EVERY_EVENTS;
    const snapshot = wantsSnapshot ? { snapshot: { version: STATE_VERSION, state: committed } } : {};
    const wake = wakeAt === undefined ? {} : { wakeAt: wakeAt === "now" ? parts.clock.now().toISOString() : wakeAt };
    try {
      const rows = written.events.map((event, at) => parts.remember(befores[at] as AgentState, event, this.read));
      const memories = (await Promise.all(rows)).flat();
      await parts.store.commit(this.lease, this.#durable, { ...written, memories, ...snapshot, ...wake });
    } catch (error) {
      this.#draft = joinDrafts(this.#committing, this.#draft);
      this.#committing = emptyDraft();
      throw error;
    }
    this.#durable = newHead;
    if (wantsSnapshot) this.#snapshotAt = newHead;
    this.#committing = emptyDraft();
    if (this.#draft.blobs.length === 0) this.#fresh.clear();
    if (written.events.length > 0) parts.onCommitted(written.events, committed);
    const receivers = written.staged.flatMap(receiverOf);
    if (receivers.length > 0) parts.onSent?.(receivers);
  }

  /** Events with seq > `after`, oldest first; fewer than `limit` means the end. */
  readonly eventsAfter = async (after: number, limit: number): Promise<readonly RecordedEvent[]> => {
    const unsaved = [...this.#committing.events, ...this.#draft.events].filter(({ seq }) => seq > after);
    const most = Math.min(limit, this.#durable - after);
    const stored = most > 0 ? await this.#parts.store.read(this.lease.agent, after, most) : [];
    return [...stored, ...unsaved].slice(0, limit);
  };

  /** Throws GOALD_STORE_DAMAGED when the log has no such event. */
  async eventAt(seq: number): Promise<RecordedEvent> {
    const [event] = await this.eventsAfter(seq - 1, 1);
    if (event?.seq === seq) return event;
    throw damaged(`${this.lease.agent} needs its event ${seq}, which is not in the store.`);
  }

  /** Returns the whole text, from its blob if it has one. */
  readonly read = async (text: Text): Promise<string> => {
    if (typeof text === "string") return text;
    const waiting = this.#fresh.get(text.blob);
    if (waiting !== undefined) return waiting;
    const bytes = await this.#parts.store.blob(text.blob);
    if (bytes) return Buffer.from(bytes).toString("utf8");
    const { agent } = this.lease;
    throw damaged(`A text of ${text.bytes} bytes that ${agent} needs is not in the store (blob ${text.blob}).`);
  };
}

const damaged = (message: string): GoaldError =>
  new GoaldError("GOALD_STORE_DAMAGED", message, { hint: "See what else is missing: goald verify" });

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

/**
 * The row of the file history that says that a person trusts the words of a path; undefined for a deleted file. `last`:
 * the newest version of the path; undefined for a file in a placed folder. Pure.
 */
function trustRow(path: string, last: LastChange | undefined, step: number): CommittedFile | undefined {
  if (last?.operation === "delete") return undefined;
  const { bytes, sha256 } = last ?? { bytes: 0, sha256: null };
  return { path, operation: "trust", bytes, sha256, content: null, step, callId: "" };
}

/** The path whose words the message trusts; undefined for any other message. */
const trustedPath = (message: InboxMessage): string | undefined =>
  message.type === "trust" && message.what === "file" ? message.path : undefined;

/** Marks of whole events: the fields of the stamp are fixed too. */
const EVENT_MARKS: Readonly<Record<string, FieldMarks>> = Object.fromEntries(
  Object.entries(EVENT_FIELDS).map(([type, marks]): [string, FieldMarks] => [
    type,
    { ...(marks as FieldMarks), type: "fixed", at: "fixed" },
  ]),
);

export interface Storing {
  /** Removes known secrets. */
  scrub(text: string): string;
  /** Stores a long text. Absent: long texts stay as they are. */
  spill?(text: string): BlobRef;
}

/**
 * Returns a value as the log keeps it; `restoreValue` turns it back. A string over the limit becomes a reference to a blob. An
 * object of a command that only looks like a reference becomes a blob of its JSON, so that no object in the log is
 * mistaken for one. `mark`: how the value is stored (`EVENT_FIELDS`).
 */
export function storeValue(value: unknown, mark: Mark | undefined, storing: Storing): unknown {
  if (mark === "whole") return storeWhole(value, storing);
  if (typeof value === "string") return storeText(value, mark, storing);
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return value.map((item) => storeValue(item, markOf("", mark), storing));
  if (!isBlobRef(value)) return storeMembers(value, mark, storing);
  if (mark === "text") return value;
  const { scrub, spill } = storing;
  const whole = storeMembers(value, mark, { scrub });
  return spill ? { ...spill(JSON.stringify(whole)), json: true } : whole;
}

/** A value of many short parts can be long too: then it becomes one blob. */
function storeWhole(value: unknown, storing: Storing): unknown {
  if (typeof value !== "object" || value === null || !storing.spill) return storeValue(value, "json", storing);
  const json = JSON.stringify(storeValue(value, "json", { scrub: storing.scrub }));
  return isLong(json) ? { ...storing.spill(json), json: true } : storeValue(value, "json", storing);
}

function storeText(text: string, mark: Mark | undefined, { scrub, spill }: Storing): unknown {
  if (mark === "fixed") return text;
  const stored = mark === "exact" ? text : scrub(wellFormed(text));
  if (!spill || !isLong(stored)) return stored;
  // UTF-8 has no lone surrogates, but JSON escapes them.
  return stored.isWellFormed() ? spill(stored) : { ...spill(JSON.stringify(stored)), json: true };
}

/** A string of n UTF-16 units has between n and 3n bytes. */
const isLong = (text: string): boolean => text.length * 3 > SPILL_BYTES && Buffer.byteLength(text) > SPILL_BYTES;

function storeMembers(value: object, mark: Mark | undefined, storing: Storing): object {
  // Changing a clone in place is several times faster than building a new object.
  const copy: Record<string, unknown> = { ...value };
  for (const [name, item] of Object.entries(value)) {
    const stored = storeValue(item, markOf(name, mark), storing);
    const storedName = mark === "json" ? storing.scrub(name) : name;
    if (stored === item && storedName === name) continue;
    if (storedName !== name) delete copy[name];
    if (storedName === "__proto__") Object.defineProperty(copy, storedName, { value: stored, enumerable: true });
    else copy[storedName] = stored;
  }
  return copy;
}

function markOf(name: string, mark: Mark | undefined): Mark | undefined {
  if (typeof mark !== "object") return mark === "exact" || mark === "json" ? mark : undefined;
  return Object.hasOwn(mark, name) ? (mark as FieldMarks)[name] : undefined;
}
