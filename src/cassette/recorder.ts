/**
 * recorder.ts -- writes down all that comes to a run from outside, while it runs.
 *
 * A line is written before the log is, so what a killed process has committed can always be played. What was written and
 * never committed belongs to a process that died; the next session says from where it went on, and with which files.
 */
import { AsyncLocalStorage } from "node:async_hooks";
import type { RecordedEvent } from "#core/event.ts";
import type { AgentRow } from "#core/ports/agent.ts";
import type { Clock } from "#core/ports/clock.ts";
import type { AgentState } from "#core/state.ts";
import type { Outcome } from "#loop/journal.ts";
import type { RunParts } from "#loop/run.ts";
import type { Work } from "#loop/work.ts";
import { canonicalJson, sha256 } from "#store/chain.ts";
import { encodeBody } from "./body.ts";
import { changesSince, type Folder, hashAll, look, type Seen } from "./folder.ts";
import { type EndLine, type ExchangeKey, type Line, type SessionLine, stateHash } from "./format.ts";
import { createOrdinals, isOutside, placeOf } from "./place.ts";
import { type RecordingHttp, recordHttp } from "./record-http.ts";
import type { RecordingFile } from "./recording-file.ts";
import type { Tape } from "./tape.ts";

export interface RecorderParts {
  readonly file: RecordingFile;
  readonly clock: Clock;
  /** Secrets, and whatever looks like one. The run must keep its texts with the same net. */
  redact(text: string): string;
}

export interface Begin {
  readonly row: AgentRow;
  readonly created: Extract<RecordedEvent, { readonly type: "agent-created" }>;
  readonly epoch: number;
  readonly settings: Readonly<Record<string, unknown>>;
  readonly services: readonly string[];
  readonly catalogue: string;
  readonly folder: Folder;
}

export interface Recorder extends Tape, Disposable {
  /** Before the loop begins. */
  begin(begin: Begin): Promise<void>;
  /** The loop has come back. Undefined when somebody ended the run from elsewhere, behind the loop's back: it is recorded up to there. */
  end(state: AgentState): Promise<EndLine | undefined>;
  readonly path: string;
  /** How many requests were written down. */
  readonly exchanges: number;
}

export function openRecorder({ file, clock: real, redact }: RecorderParts): Recorder {
  let begun: { readonly row: AgentRow; readonly folder: Folder } | undefined;
  let seen: Seen = new Map();
  let head = 0;
  let lastState: string | undefined;
  let place = { step: 0, attempt: 1 };
  let [exchanges, looks, commands] = [0, 0, 0];
  const nextOrdinal = createOrdinals();
  /** The call that is under way and will be played as a whole; followed wherever its requests are sent from. */
  const inside = new AsyncLocalStorage<{ readonly callId: string; requests: number }>();
  let http: RecordingHttp | undefined;
  let readings: number[] = [];
  const heard = new Set<string>();
  /** What came before the session had its line. */
  const early: Line[] = [];
  const values = new Map<string, { calls: number; last: string }>();

  function nextKey(): ExchangeKey & { readonly agent: string } {
    const at = { agent: begun?.row.id ?? "", ...place };
    const call = inside.getStore();
    if (!call) return { ...at, ordinal: nextOrdinal(place) };
    call.requests++;
    return { ...at, ordinal: call.requests, within: call.callId };
  }

  function write(line: Line): void {
    if (begun) file.write(line);
    else early.push(line);
  }

  function read(): Date {
    const now = real.now();
    readings.push(now.getTime());
    return now;
  }

  /** What was read since the last time, as differences. */
  function takeReadings(): readonly number[] {
    const taken = readings.map((at, index) => at - (index === 0 ? 0 : (readings[index - 1] as number)));
    readings = [];
    return taken;
  }

  const store = (parts: RunParts): RunParts["store"] => ({
    load: (...args) => parts.store.load(...args),
    blob: (sha) => parts.store.blob(sha),
    inbox: async (agent) => {
      looks++;
      const rows = await parts.store.inbox(agent);
      const fresh = rows.filter(({ key }) => !heard.has(key));
      for (const { key } of fresh) heard.add(key);
      if (fresh.length > 0) {
        const text = redact(JSON.stringify(fresh));
        write({ type: "inbox", call: looks, rows: JSON.parse(text) });
      }
      return rows;
    },
    commit: async (lease, after, commit) => {
      http?.flush();
      const events = commit.events.map(({ type }) => type);
      const hash = sha256(canonicalJson(commit.events));
      write({ type: "commit", after, events, sha256: hash, clock: takeReadings() });
      await parts.store.commit(lease, after, commit);
      head = after + events.length;
    },
  });

  async function noteChanges(step: number): Promise<void> {
    if (!begun) return;
    commands++;
    const now = await look(begun.folder);
    const files = await changesSince(seen, now, begun.folder, redact);
    seen = now;
    if (files.length > 0) write({ type: "files", call: commands, step, files });
  }

  async function act(work: Work, callId: string): Promise<Outcome> {
    const readBefore = readings.length;
    const outcome = isOutside(work.intent) ? await inside.run({ callId, requests: 0 }, work.act) : await work.act();
    if (!begun) return outcome;
    const before = seen;
    seen = await look(begun.folder);
    if (isOutside(work.intent)) {
      const files = await changesSince(before, seen, begun.folder, redact);
      const { events, staged = [] } = JSON.parse(redact(JSON.stringify({ ...outcome, files: [] }))) as Outcome;
      const changes = (outcome.files ?? []).map(({ content, ...change }) => ({
        ...change,
        content: content && encodeBody(content, redact),
      }));
      const read = readings.length - readBefore;
      write({ type: "outcome", ...place, callId, events, staged, changes, files, readings: read });
    }
    return outcome;
  }

  const prepare =
    (parts: RunParts): RunParts["prepare"] =>
    async (move, journal) => {
      place = placeOf(move, journal.state);
      const isCommand = move.kind === "execute" || move.kind === "probe";
      if (!isCommand) return parts.prepare(move, journal);
      await noteChanges(place.step);
      const work = await parts.prepare(move, journal);
      return { intent: work.intent, act: () => act(work, move.callId) };
    };

  return {
    clock: { now: read, sleep: real.sleep },
    beside: real,
    path: file.path,
    get exchanges() {
      return exchanges;
    },
    http: (open) => {
      http = recordHttp(open(), {
        redact,
        nextKey,
        write: (line) => {
          exchanges++;
          write(line);
        },
      });
      return http;
    },
    value: (name, compute) => {
      const value = compute();
      const text = JSON.stringify(value) ?? "null";
      const known = values.get(name);
      const calls = (known?.calls ?? 0) + 1;
      if (known?.last !== text) write({ type: "value", name, call: calls, value: JSON.parse(redact(text)) });
      values.set(name, { calls, last: text });
      return value;
    },
    through: (parts) => ({
      ...parts,
      clock: { now: read, sleep: real.sleep },
      store: store(parts),
      prepare: prepare(parts),
      onCommitted: (events, state) => {
        lastState = stateHash(state);
        write({ type: "committed", head, state: lastState });
        parts.onCommitted(events, state);
      },
      wait: async (move, state) => {
        const goesOn = await parts.wait(move, state);
        write({ type: "wait", waitFor: move.waitFor, until: move.until, goesOn });
        return goesOn;
      },
    }),
    begin: async ({ row, created, epoch, settings, services, catalogue, folder }) => {
      seen = await look(folder);
      const { type: _type, name, role, goals, v: _v, seq: _seq, at: _at, frame: _frame, ...given } = created;
      const start: SessionLine = {
        type: "session",
        agent: { id: row.id, createdAt: row.createdAt },
        name,
        role,
        goals,
        given,
        epoch,
        head: row.head,
        settings,
        ...(services.length > 0 ? { services } : {}),
        catalogue,
        files: await changesSince(new Map(), seen, folder, redact),
      };
      file.write(start);
      begun = { row, folder };
      head = row.head;
      for (const line of early) write(line);
    },
    end: async (state) => {
      if (lastState !== undefined && stateHash(state) !== lastState) return undefined;
      http?.flush();
      const files = begun ? await hashAll(begun.folder, redact) : {};
      const end: EndLine = { type: "end", head, state: stateHash(state), clock: takeReadings(), files };
      write(end);
      return end;
    },
    [Symbol.dispose]: () => file.close(),
  };
}
