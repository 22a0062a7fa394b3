/**
 * run.ts -- the main loop. Read this file first.
 *
 *   state --decide--> move --prepare--> intent --commit--> act --record--> state
 *
 * The law of this loop: an intent is durable before its effect begins. A process that is
 * killed between any two lines leaves a log that says what was about to happen. The next
 * process continues from there: `decide` sees the intent, and the command's effect says
 * whether to run it again, to probe first, or to report the outcome as unknown.
 */
import { decide, type Move, type Rules } from "#core/decide.ts";
import { listens } from "#core/inbox.ts";
import type { Lease } from "#core/ports/agent.ts";
import type { Clock } from "#core/ports/clock.ts";
import { type AgentState, openCommand } from "#core/state.ts";
import { type JournalParts, openJournal } from "./journal.ts";
import type { Prepare } from "./perform.ts";

export interface RunParts extends JournalParts {
  readonly rules: Rules;
  readonly clock: Clock;
  /** Turns a move into an intent and an action. Changes nothing itself. */
  readonly prepare: Prepare;
  /** True when a recall may send a request. Results become durable before it. */
  remoteRecall(): boolean;
  /** Resolves to true when the time has come or a message has arrived, to false when this host does not wait for it. */
  wait(move: Extract<Move, { kind: "wait" }>, state: AgentState): Promise<boolean>;
  /** Aborted when the host shuts down: the current step finishes, and no other begins. */
  readonly draining?: AbortSignal;
}

/** Runs one agent until it rests, pauses, or waits for something that this host does not wait for. */
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
        if (mayWait(move, journal.state, parts)) await journal.commit("now");
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

/**
 * True when preparing the move may take long or end the process. What is recorded becomes durable first: a reply that was
 * paid, and what we know about a crash.
 */
function mayWait(move: Move, state: AgentState, { rules, remoteRecall }: RunParts): boolean {
  if (move.kind === "ask") return remoteRecall();
  if (move.kind !== "execute") return move.kind === "probe";
  const name = openCommand(state, move.callId)?.call.name ?? "";
  return move.attempt > 1 || rules.facts(name)?.prepare !== undefined;
}
