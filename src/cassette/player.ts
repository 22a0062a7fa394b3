/**
 * player.ts -- gives a run what one session of a recording holds, and nothing else: no socket is opened.
 *
 * Whatever the run asks for must be there, and be asked for in the same way; the first thing that is not ends the replay with
 * an error that names the step and what differs. A session whose process was killed is cut off at the event that was its last.
 */
import { GoaldError } from "#core/errors.ts";
import type { Clock } from "#core/ports/clock.ts";
import type { InboxMessage } from "#core/ports/inbox.ts";
import type { Outcome } from "#loop/journal.ts";
import type { RunParts } from "#loop/run.ts";
import { canonicalJson, sha256 } from "#store/chain.ts";
import { decodeBody } from "./body.ts";
import { apply, type Folder } from "./folder.ts";
import { type CommitLine, ofType, type Session, stateHash } from "./format.ts";
import { isOutside, placeOf } from "./place.ts";
import { playHttp } from "./play-http.ts";
import type { Tape } from "./tape.ts";

export interface PlayerParts {
  readonly session: Session;
  /** The event after which the recorded process was killed; undefined for one that came to its end. */
  readonly cutAfter: number | undefined;
  redact(text: string): string;
  /** The folder of the agent that plays. */
  folder(): Folder;
  /** Into the inbox of the agent that plays. */
  deliver(key: string, message: InboxMessage, at: string): Promise<unknown>;
  /** Told with a miss: why it may be. */
  hint(): string;
}

export interface Player extends Tape {
  /** The first thing that was not as recorded. */
  readonly miss: GoaldError | undefined;
  /** How many events were the same to the letter, of how many. */
  readonly events: { readonly same: number; readonly all: number };
  readonly exchanges: number;
  /** Throws for what the recording holds and nobody asked for. */
  finish(): void;
}

/** Thrown where the recorded process was killed. */
export class CutOff extends Error {
  override readonly name = "CutOff";
}

export function openPlayer({ session, cutAfter, redact, folder, deliver, hint }: PlayerParts): Player {
  const [inbox, files, waits] = [ofType(session, "inbox"), ofType(session, "files"), ofType(session, "wait")];
  const outcomes = ofType(session, "outcome");
  const commits = ofType(session, "commit");
  const states = new Map(ofType(session, "committed").map(({ head, state }) => [head, state]));
  let miss: GoaldError | undefined;
  let isCut = false;
  /** The state is another one: said when nothing that follows says more. */
  let otherState: string | undefined;
  let { head } = session.start;
  let place = { step: 0, attempt: 1 };
  let [looks, commands] = [0, 0];
  const events = { same: 0, all: 0 };
  const calls = new Map<string, number>();
  const values = ofType(session, "value");

  /** Never comes back. Who swallows it meets it again at the next door. */
  function fail(what: string): never {
    isCut ||= cutAfter !== undefined && head >= cutAfter;
    if (isCut) throw new CutOff();
    return mismatch(what);
  }
  function mismatch(what: string): never {
    const { step, attempt } = place;
    const where = `Step ${step}${attempt > 1 ? `, attempt ${attempt}` : ""}`;
    miss ??= new GoaldError("GOALD_REPLAY", `${where} is not as it was recorded: ${what}.`, { hint: hint() });
    throw miss;
  }
  function requireNoMiss(): void {
    if (miss) throw miss;
    if (isCut) throw new CutOff();
  }

  const clock = playClock(() => {
    requireNoMiss();
    return commits[0]?.clock ?? session.end?.clock ?? [];
  });
  const http = playHttp(
    ofType(session, "exchange"),
    () => place,
    redact,
    (what) => {
      requireNoMiss();
      return fail(what);
    },
  );

  function takeCommit(after: number, types: readonly string[], hash: string): void {
    requireNoMiss();
    if (otherState) mismatch(otherState);
    const line: CommitLine = commits[0] ?? fail(`it writes ${types.join(", ")}, and the recording ends before`);
    if (line.after !== after || line.events.join() !== types.join())
      fail(
        `it writes ${types.join(", ") || "no event"} after event ${after}, and wrote ${line.events.join(", ") || "no event"} after ${line.after}`,
      );
    events.all += types.length;
    if (line.sha256 === hash) events.same += types.length;
    commits.shift();
    clock.rewind();
  }

  const store = (parts: RunParts): RunParts["store"] => ({
    load: (...args) => parts.store.load(...args),
    blob: (sha) => parts.store.blob(sha),
    inbox: async (agent) => {
      requireNoMiss();
      looks++;
      while (inbox[0]?.call === looks)
        for (const { key, message, at } of inbox.shift()?.rows ?? []) await deliver(key, message, at);
      return parts.store.inbox(agent);
    },
    commit: async (lease, after, commit) => {
      takeCommit(
        after,
        commit.events.map(({ type }) => type),
        sha256(canonicalJson(commit.events)),
      );
      await parts.store.commit(lease, after, commit);
      head = after + commit.events.length;
    },
  });

  async function playOutcome(callId: string): Promise<Outcome> {
    const line = outcomes.shift();
    if (line?.callId !== callId || line.attempt !== place.attempt) return fail(`the result of ${callId} is not in it`);
    clock.skip(line.readings);
    await apply(line.files, folder());
    const files = line.changes.map(({ content: body, ...change }) => {
      const content = body && decodeBody(body);
      return { ...change, content, sha256: content && sha256(content) };
    });
    return { events: line.events as Outcome["events"], staged: line.staged as NonNullable<Outcome["staged"]>, files };
  }

  const prepare =
    (parts: RunParts): RunParts["prepare"] =>
    async (move, journal) => {
      requireNoMiss();
      place = placeOf(move, journal.state);
      if (move.kind !== "execute" && move.kind !== "probe") return parts.prepare(move, journal);
      commands++;
      while (files[0]?.call === commands) await apply(files.shift()?.files ?? [], folder());
      const work = await parts.prepare(move, journal);
      if (!isOutside(work.intent)) return work;
      return { intent: work.intent, act: () => playOutcome(move.callId) };
    };

  return {
    clock,
    beside: patientClock(),
    http: () => http,
    get miss() {
      return miss;
    },
    events,
    get exchanges() {
      return http.played;
    },
    value: <T>(name: string, _compute: () => T): T => {
      const call = (calls.get(name) ?? 0) + 1;
      calls.set(name, call);
      const line = values.findLast((value) => value.name === name && value.call <= call);
      return line ? (line.value as T) : fail(`the ${name} is not in it`);
    },
    through: (parts) => ({
      ...parts,
      clock,
      store: store(parts),
      prepare: prepare(parts),
      onCommitted: (committed, state) => {
        parts.onCommitted(committed, state);
        const recorded = states.get(head);
        if (recorded !== undefined && recorded !== stateHash(state))
          otherState ??= `after event ${head} (${committed.at(-1)?.type}) the agent's state is another one`;
        isCut ||= cutAfter !== undefined && head >= cutAfter;
        if (isCut && otherState) mismatch(otherState);
        requireNoMiss();
      },
      wait: async (move) => {
        requireNoMiss();
        const line = waits.shift() ?? fail(`it waits for ${move.waitFor}, and the recording ends before`);
        if (line.waitFor !== move.waitFor) fail(`it waits for ${move.waitFor}, and waited for ${line.waitFor}`);
        return line.goesOn;
      },
    }),
    finish: () => {
      requireNoMiss();
      if (otherState) mismatch(otherState);
      const left = http.left();
      if (left) fail(`the recording holds a request that was not made: ${left}`);
      const [message] = inbox.flatMap(({ rows }) => rows);
      if (message) fail(`the recording holds a message that was not heard (${message.message.type}, ${message.at})`);
      if (commits[0]) fail(`the recording goes on with ${commits[0].events.join(", ")}`);
    },
  };
}

interface PlayClock extends Clock {
  /** Leaves out so many readings. */
  skip(count: number): void;
  /** The next ones are those of the next commit. */
  rewind(): void;
}

/** Reads what was read when it was recorded; when goald reads it more often than then, the last time stands still. */
function playClock(segment: () => readonly number[]): PlayClock {
  let [index, at] = [0, 0];
  function read(): void {
    const step = segment()[index];
    if (step !== undefined) at = index === 0 ? step : at + step;
    index++;
  }
  return {
    now: () => {
      read();
      return new Date(at);
    },
    skip: (count) => {
      for (let left = count; left > 0; left--) read();
    },
    sleep: async () => undefined,
    rewind: () => {
      index = 0;
    },
  };
}

/** Every wait is over at once, and its time has passed. */
function patientClock(): Clock {
  let at = 0;
  return {
    now: () => new Date(at),
    sleep: async (ms) => {
      at += Math.max(0, ms);
    },
  };
}
