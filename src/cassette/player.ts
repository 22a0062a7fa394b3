/**
 * player.ts -- supplies a run with the inputs of one recorded session. It opens no socket. Every request of the run
 * must match the recording. The first difference ends the replay with an error that names the step. A session whose
 * process was killed is cut off at its last event.
 */
import { GoaldError } from "#core/errors.ts";
import type { RecordedEvent } from "#core/event.ts";
import type { Clock } from "#core/ports/clock.ts";
import type { Sandbox } from "#core/ports/sandbox.ts";
import type { AgentState } from "#core/state.ts";
import type { Outcome } from "#loop/journal.ts";
import type { PreparedMove, RunNested, RunParts } from "#loop/run-parts.ts";
import { sha256 } from "#store/chain.ts";
import { canonicalJson } from "#util/json.ts";
import { type PlayedAnswers, playAnswers, type TapedPorts, tapePorts } from "./answers.ts";
import { apply, outcomeOf } from "./folder.ts";
import { ofType, stateHash } from "./format.ts";
import { playSandbox } from "./record-cells.ts";
import { isOutside, type PlayerParts, placeOf, type Tape } from "./tape.ts";

/** Events of work that a run does not begin any more when its host drains. */
const BEGINNINGS: ReadonlySet<string> = new Set(["model-asked", "command-started"]);

/** Thrown at the point where the recorded process was killed. */
export class CutOff extends Error {
  override readonly name = "CutOff";
}

export class Player implements Tape {
  readonly plays = true;
  readonly clock: ReturnType<typeof playClock>;
  readonly beside = patientClock();
  readonly ports: TapedPorts;
  /** Number of events whose content is identical to the recording, and of all events. */
  readonly events = { same: 0, all: 0 };
  readonly #parts: PlayerParts;
  readonly #answers: PlayedAnswers;
  readonly #inbox;
  readonly #files;
  readonly #waits;
  readonly #acts;
  readonly #commits;
  readonly #values;
  /** Hash of the state by the number of the last event. */
  readonly #states: ReadonlyMap<number, string>;
  readonly #valueCalls = new Map<string, number>();
  /** Aborted when no model call or command follows in a session that has an end. */
  readonly #draining = new AbortController();
  #miss: GoaldError | undefined;
  #isCut = false;
  /** Describes a difference in the state. Thrown when no more specific difference follows. */
  #otherState: string | undefined;
  #head: number;
  #place = { step: 0, attempt: 1 };
  #looks = 0;
  #commands = 0;

  constructor(parts: PlayerParts) {
    const { session, redact } = parts;
    this.#parts = parts;
    this.#inbox = ofType(session, "inbox");
    this.#files = ofType(session, "files");
    this.#waits = ofType(session, "wait");
    this.#acts = session.lines.filter((line) => line.type === "outcome" || line.type === "nested");
    this.#commits = ofType(session, "commit");
    this.#values = ofType(session, "value");
    this.#states = new Map(ofType(session, "committed").map(({ head, state }) => [head, state]));
    this.#head = session.start.head;
    this.#drainAtEnd();
    this.clock = playClock(() => {
      this.#requireNoMiss();
      return this.#commits[0]?.clock ?? session.end?.clock ?? [];
    });
    this.#answers = playAnswers(
      ofType(session, "answer"),
      () => this.#place,
      redact,
      (what) => {
        this.#requireNoMiss();
        return this.#fail(what);
      },
    );
    this.ports = tapePorts(this.#answers.ask, async (name) => this.value(name));
  }

  get miss(): GoaldError | undefined {
    return this.#miss;
  }

  get answers(): number {
    return this.#answers.played;
  }

  value<T>(name: string): T {
    const call = (this.#valueCalls.get(name) ?? 0) + 1;
    this.#valueCalls.set(name, call);
    const line = this.#values.findLast((value) => value.name === name && value.call <= call);
    return line ? (line.value as T) : this.#fail(`the ${name} is not in it`);
  }

  sandbox(): Sandbox {
    return playSandbox(
      this.#parts.session,
      (what) => this.#fail(what),
      (name) => this.value(name),
    );
  }

  through(parts: RunParts): RunParts {
    return {
      ...parts,
      clock: this.clock,
      draining: this.#draining.signal,
      store: this.#playStore(parts.store),
      prepare: (move, journal) => this.#prepare(parts, move, journal),
      onCommitted: (events, state) => {
        parts.onCommitted(events, state);
        this.#compareState(events, state);
      },
      wait: async (move) => {
        this.#requireNoMiss();
        const line = this.#waits.shift() ?? this.#fail(`it waits for ${move.waitFor}, and the recording ends before`);
        if (line.waitFor !== move.waitFor) this.#fail(`it waits for ${move.waitFor}, and waited for ${line.waitFor}`);
        return line.goesOn;
      },
    };
  }

  /** Throws if the recording contains input that the run did not use. */
  finish(): void {
    this.#requireNoMiss();
    if (this.#otherState) this.#mismatch(this.#otherState);
    const left = this.#answers.left();
    if (left) this.#fail(`the recording holds a request that was not made: ${left}`);
    const [row] = this.#inbox.flatMap(({ rows }) => rows);
    if (row) this.#fail(`the recording holds a message that was not received (${row.message.type}, ${row.at})`);
    if (this.#commits[0]) this.#fail(`the recording goes on with ${this.#commits[0].events.join(", ")}`);
  }

  /** Throws and records the difference. Later requests, messages and commits throw the same error. */
  #fail(what: string): never {
    const { cutAfter } = this.#parts;
    this.#isCut ||= cutAfter !== undefined && this.#head >= cutAfter;
    if (this.#isCut) throw new CutOff();
    return this.#mismatch(what);
  }

  #mismatch(what: string): never {
    const { step, attempt } = this.#place;
    const where = `Step ${step}${attempt > 1 ? `, attempt ${attempt}` : ""}`;
    const message = `${where} is not as it was recorded: ${what}.`;
    this.#miss ??= new GoaldError("GOALD_REPLAY", message, { hint: this.#parts.hint() });
    throw this.#miss;
  }

  #requireNoMiss(): void {
    if (this.#miss) throw this.#miss;
    if (this.#isCut) throw new CutOff();
  }

  #compareState(events: readonly RecordedEvent[], state: AgentState): void {
    const { cutAfter } = this.#parts;
    const recorded = this.#states.get(this.#head);
    if (recorded !== undefined && recorded !== stateHash(state))
      this.#otherState ??= `after event ${this.#head} (${events.at(-1)?.type}) the agent's state is another one`;
    this.#isCut ||= cutAfter !== undefined && this.#head >= cutAfter;
    if (this.#isCut && this.#otherState) this.#mismatch(this.#otherState);
    this.#requireNoMiss();
  }

  #playStore(store: RunParts["store"]): RunParts["store"] {
    return {
      ...store,
      inbox: async (agent) => {
        this.#requireNoMiss();
        this.#looks++;
        while (this.#inbox[0]?.call === this.#looks)
          for (const { key, message, at } of this.#inbox.shift()?.rows ?? [])
            await this.#parts.deliver(key, message, at);
        return store.inbox(agent);
      },
      commit: async (lease, after, commit) => {
        const types = commit.events.map(({ type }) => type);
        this.#takeCommit(after, types, sha256(canonicalJson(commit.events)));
        await store.commit(lease, after, commit);
        this.#head = after + commit.events.length;
      },
    };
  }

  #takeCommit(after: number, types: readonly string[], hash: string): void {
    this.#requireNoMiss();
    if (this.#otherState) this.#mismatch(this.#otherState);
    const line = this.#commits[0] ?? this.#fail(`it writes ${types.join(", ")}, and the recording ends before`);
    if (line.after !== after || line.events.join() !== types.join())
      this.#fail(
        `it writes ${types.join(", ") || "no event"} after event ${after}, and wrote ${line.events.join(", ") || "no event"} after ${line.after}`,
      );
    this.events.all += types.length;
    if (line.sha256 === hash) this.events.same += types.length;
    this.#commits.shift();
    this.clock.rewind();
    this.#drainAtEnd();
  }

  #drainAtEnd(): void {
    const goesOn = this.#commits.some(({ events }) => events.some((type) => BEGINNINGS.has(type)));
    if (this.#parts.session.end && !goesOn) this.#draining.abort();
  }

  async #prepare(parts: RunParts, ...[move, journal]: Parameters<RunParts["prepare"]>): Promise<PreparedMove> {
    this.#requireNoMiss();
    this.#place = placeOf(move, journal.state);
    if (move.kind !== "execute" && move.kind !== "probe") return parts.prepare(move, journal);
    this.#commands++;
    while (this.#files[0]?.call === this.#commands) await apply(this.#files.shift()?.files ?? [], this.#parts.folder());
    const prepared = await parts.prepare(move, journal);
    if (!isOutside(prepared.intent)) return prepared;
    return { intent: prepared.intent, perform: (runNested) => this.#playAct(move.callId, runNested) };
  }

  /** The nested work of a call comes before its outcome, each with its own lines in between. */
  async #playAct(callId: string, runNested: RunNested): Promise<Outcome | null> {
    const place = this.#place;
    const line = this.#acts.shift();
    if (line?.callId !== callId || line.attempt !== place.attempt)
      return this.#fail(`the result of ${callId} is not in it`);
    this.clock.skip(line.readings);
    if (line.type === "outcome") {
      await apply(line.files, this.#parts.folder());
      return outcomeOf(line);
    }
    if (!(await runNested(line.push as Parameters<RunNested>[0]))) return null;
    this.#place = place;
    return this.#playAct(callId, runNested);
  }
}

/**
 * Returns the recorded times. After the last recorded time, it keeps returning that time. `segment`: times read before the next
 * commit. The first is in ms since 1970; the others are differences.
 */
function playClock(segment: () => readonly number[]) {
  let index = 0;
  let at = 0;
  const read = (): void => {
    const step = segment()[index];
    if (step !== undefined) at = index === 0 ? step : at + step;
    index++;
  };
  return {
    now: (): Date => {
      read();
      return new Date(at);
    },
    sleep: async (): Promise<void> => undefined,
    skip: (count: number): void => {
      for (let left = count; left > 0; left--) read();
    },
    /** Starts with the readings of the next commit. */
    rewind: (): void => {
      index = 0;
    },
  };
}

/** Sleeps return at once and advance the clock by their duration. */
function patientClock(): Clock {
  let at = 0;
  return {
    now: () => new Date(at),
    sleep: async (ms) => {
      at += Math.max(0, ms);
    },
  };
}
