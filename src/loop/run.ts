/**
 * run.ts -- the main loop. Read this file first.
 *
 *   state --decide--> move --prepare--> intent --commit--> act --record--> state
 *
 * One law holds it together: an intent is durable before its effect begins. So a
 * process killed between any two lines leaves a log that says what was about to happen, and
 * the next one goes on from there: `decide` sees the intent and knows by the command's
 * effect whether to run it again, to look first, or to say that nobody can tell.
 */
import { decide, type Move, type Rules } from "#core/decide.ts";
import { listens } from "#core/inbox.ts";
import type { Lease } from "#core/ports/agent.ts";
import type { Clock } from "#core/ports/clock.ts";
import type { AgentState } from "#core/state.ts";
import { type JournalParts, openJournal } from "./journal.ts";
import type { Prepare } from "./perform.ts";

export interface RunParts extends JournalParts {
  readonly rules: Rules;
  readonly clock: Clock;
  /** Turns a move into work: what to write first, and what to do then. Changes nothing by itself. */
  readonly prepare: Prepare;
  /** True when recalling may leave the machine: results are then made durable before it. */
  remoteRecall(): boolean;
  /** Resolves when the time has come or a message has arrived; false when this host will not wait for it. */
  wait(move: Extract<Move, { kind: "wait" }>, state: AgentState): Promise<boolean>;
  /** Aborted when the host goes down: the step under way is finished, and no other begins. */
  readonly draining?: AbortSignal;
}

/** Runs one agent until it rests, pauses, or waits for what this host will not wait for. */
export async function run(lease: Lease, parts: RunParts): Promise<AgentState> {
  const journal = await openJournal(lease, parts);
  for (;;) {
    if (listens(journal.state)) await journal.receiveInbox();
    const move = decide(journal.state, parts.rules, parts.clock.now());
    if (move.kind === "ask" && parts.draining?.aborted) {
      await journal.commit("now");
      return journal.state;
    }
    switch (move.kind) {
      case "record":
        journal.record({ events: move.events });
        break;
      case "rest":
        await journal.commit(null);
        return journal.state;
      case "wait":
        await journal.commit(move.until);
        if (!(await parts.wait(move, journal.state))) return journal.state;
        break;
      case "ask":
      case "read":
      case "execute":
      case "probe": {
        if (isAgain(move) || (move.kind === "ask" && parts.remoteRecall())) await journal.commit("now");
        const work = await parts.prepare(move, journal);
        if (work.intent) {
          journal.record(work.intent);
          await journal.commit("now");
        }
        journal.record(await work.act());
        break;
      }
    }
  }
}

/** What is known of a crash is durable before anything is tried that may bring the next one. */
const isAgain = (move: Move): boolean => move.kind === "probe" || (move.kind === "execute" && move.attempt > 1);
