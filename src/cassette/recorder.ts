/**
 * recorder.ts -- records all external input of one run while it runs. Each line is written before the log commits, so
 * every committed event can be replayed. The next session names the event and files that it started from. This excludes
 * lines that were written and never committed.
 */
import { AsyncLocalStorage } from "node:async_hooks";
import { toError } from "#core/errors.ts";
import type { Clock } from "#core/ports/clock.ts";
import type { Sandbox } from "#core/ports/sandbox.ts";
import type { AgentRow } from "#core/ports/store.ts";
import type { AgentState } from "#core/state.ts";
import type { Outcome } from "#loop/journal.ts";
import type { PreparedMove, RunNested, RunParts } from "#loop/run-parts.ts";
import { sha256 } from "#store/chain.ts";
import { canonicalJson } from "#util/json.ts";
import { redactJson } from "#util/redact.ts";
import { recordAnswers, type TapedPorts, tapePorts } from "./answers.ts";
import { changesSince, encodeBody, type Folder, hashAll, look, type Seen } from "./folder.ts";
import { type FileLine, type Line, stateHash } from "./format.ts";
import { recordSandbox } from "./record-cells.ts";
import { type Begin, isOutside, placeOf, type RecorderParts, type Tape } from "./tape.ts";

export class Recorder implements Tape {
  readonly plays = false;
  readonly clock: Clock;
  readonly beside: Clock;
  readonly ports: TapedPorts;
  readonly #parts: RecorderParts;
  #session: { readonly row: AgentRow; readonly folder: Folder } | undefined;
  #seenFiles: Seen = new Map();
  #head = 0;
  #lastState: string | undefined;
  #place = { step: 0, attempt: 1 };
  #looks = 0;
  #commands = 0;
  /** True inside a call whose outcome is replayed as a whole: what it asks is not recorded. */
  readonly #inside = new AsyncLocalStorage<boolean>();
  #readings: number[] = [];
  readonly #delivered = new Set<string>();
  /** Lines that wait for the session line. */
  readonly #early: Line[] = [];
  readonly #values = new Map<string, { readonly calls: number; readonly last: string }>();

  constructor(parts: RecorderParts) {
    this.#parts = parts;
    this.beside = parts.clock;
    const ask = recordAnswers({
      redact: parts.redact,
      place: () => (this.#inside.getStore() ? null : this.#place),
      write: (line) => this.#write(line),
    });
    this.ports = tapePorts(ask, async (name, compute) => {
      const value = await compute();
      return this.value(name, () => value);
    });
    this.clock = { now: () => this.#readClock(), sleep: (ms, signal) => parts.clock.sleep(ms, signal) };
  }

  value<T>(name: string, compute: () => T): T {
    const value = compute();
    const text = JSON.stringify(value) ?? "null";
    const known = this.#values.get(name);
    const calls = (known?.calls ?? 0) + 1;
    if (known?.last !== text)
      this.#write({ type: "value", name, call: calls, value: JSON.parse(this.#parts.redact(text)) });
    this.#values.set(name, { calls, last: text });
    return value;
  }

  sandbox(open: () => Sandbox): Sandbox {
    const { redact } = this.#parts;
    return recordSandbox(open(), { redact, write: (line) => this.#write(line), value: (...of) => this.value(...of) });
  }

  through(parts: RunParts): RunParts {
    return {
      ...parts,
      clock: this.clock,
      store: this.#recordStore(parts.store),
      prepare: (move, journal) => this.#prepare(parts, move, journal),
      onCommitted: (events, state) => {
        this.#lastState = stateHash(state);
        this.#write({ type: "committed", head: this.#head, state: this.#lastState });
        parts.onCommitted(events, state);
      },
      wait: async (move, state) => {
        const goesOn = await parts.wait(move, state);
        this.#write({ type: "wait", waitFor: move.waitFor, until: move.until, goesOn });
        return goesOn;
      },
    };
  }

  /** Called before the loop begins. */
  async begin({ row, created, services, folder, ...session }: Begin): Promise<void> {
    const { write } = this.#parts;
    this.#seenFiles = await look(folder);
    const { type: _type, name, role, goals, v: _v, seq: _seq, at: _at, frame: _frame, ...given } = created;
    write({
      type: "session",
      agent: { id: row.id, createdAt: row.createdAt },
      name,
      role,
      goals,
      given,
      head: row.head,
      ...session,
      ...(services.length > 0 ? { services } : {}),
      files: await this.#changesSince(new Map(), folder),
    });
    this.#session = { row, folder };
    this.#head = row.head;
    for (const line of this.#early) write(line);
  }

  /** Called when the loop has returned. Writes no end if the state differs from the last recorded one. */
  async end(state: AgentState): Promise<void> {
    const hash = stateHash(state);
    if (this.#lastState !== undefined && hash !== this.#lastState) return;
    const files = this.#session ? await hashAll(this.#session.folder, this.#parts.redact) : {};
    this.#write({ type: "end", head: this.#head, state: hash, clock: this.#takeReadings(), files });
  }

  #write(line: Line): void {
    if (this.#session) this.#parts.write(line);
    else this.#early.push(line);
  }

  #readClock(): Date {
    const now = this.#parts.clock.now();
    this.#readings.push(now.getTime());
    return now;
  }

  /** Returns the clock readings since the previous call, as differences. */
  #takeReadings(): readonly number[] {
    const readings = this.#readings;
    this.#readings = [];
    return readings.map((at, index) => at - (index === 0 ? 0 : (readings[index - 1] as number)));
  }

  #recordStore(store: RunParts["store"]): RunParts["store"] {
    return {
      ...store,
      inbox: async (agent) => {
        this.#looks++;
        const rows = await store.inbox(agent);
        const fresh = rows.filter(({ key }) => !this.#delivered.has(key));
        for (const { key } of fresh) this.#delivered.add(key);
        if (fresh.length > 0)
          this.#write({ type: "inbox", call: this.#looks, rows: redactJson(fresh, this.#parts.redact) });
        return rows;
      },
      commit: async (lease, after, commit) => {
        const events = commit.events.map(({ type }) => type);
        const hash = sha256(canonicalJson(commit.events));
        this.#write({ type: "commit", after, events, sha256: hash, clock: this.#takeReadings() });
        await store.commit(lease, after, commit);
        this.#head = after + events.length;
      },
    };
  }

  async #prepare(parts: RunParts, ...[move, journal]: Parameters<RunParts["prepare"]>): Promise<PreparedMove> {
    this.#place = placeOf(move, journal.state);
    if (move.kind !== "execute" && move.kind !== "probe") return parts.prepare(move, journal);
    await this.#noteChanges(this.#place.step);
    const prepared = await parts.prepare(move, journal);
    return { intent: prepared.intent, perform: (runNested) => this.#act(prepared, move.callId, runNested) };
  }

  /** Records changes that others made in the folder since the last command. */
  async #noteChanges(step: number): Promise<void> {
    if (!this.#session) return;
    this.#commands++;
    const { folder } = this.#session;
    const now = await look(folder);
    const before = this.#seenFiles;
    this.#seenFiles = now;
    const files = await this.#changesSince(before, folder);
    if (files.length > 0) this.#write({ type: "files", call: this.#commands, step, files });
  }

  async #changesSince(before: Seen, folder: Folder): Promise<FileLine[]> {
    try {
      return await changesSince(before, this.#seenFiles, folder, this.#parts.redact);
    } catch (thrown) {
      this.#parts.onFailed(toError(thrown));
      return [];
    }
  }

  async #act(prepared: PreparedMove, callId: string, runNested: RunNested): Promise<Outcome | null> {
    const { redact } = this.#parts;
    const place = this.#place;
    const reachesOut = isOutside(prepared.intent);
    let readBefore = this.#readings.length;
    const runRecorded: RunNested = async (push) => {
      const readings = this.#readings.length - readBefore;
      const { attempt } = place;
      if (reachesOut) this.#write({ type: "nested", callId, attempt, push: redactJson(push, redact), readings });
      const isDone = await this.#inside.run(false, () => runNested(push));
      this.#place = place;
      readBefore = this.#readings.length;
      return isDone;
    };
    const outcome = await this.#inside.run(reachesOut, () => prepared.perform(runRecorded));
    if (!this.#session || !outcome) return outcome;
    const { folder } = this.#session;
    const before = this.#seenFiles;
    this.#seenFiles = await look(folder);
    if (!reachesOut) return outcome;
    const { events, staged = [] } = redactJson({ ...outcome, files: [] }, redact);
    const changes = (outcome.files ?? []).map(({ content, ...change }) => ({
      ...change,
      content: content && encodeBody(content, redact),
    }));
    const files = await this.#changesSince(before, folder);
    const readings = this.#readings.length - readBefore;
    this.#write({ type: "outcome", ...this.#place, callId, events, staged, changes, files, readings });
    return outcome;
  }
}
