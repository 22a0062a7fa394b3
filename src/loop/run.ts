/**
 * run.ts -- the main loop. Read this file first.
 *
 *   state --decide--> move --prepare--> intent --commit--> act --record--> state
 *
 * The law of this loop: an intent is durable before its effect begins. A process that is
 * killed between any two lines leaves a log that says what was about to happen. The next
 * process continues from there: `decide` sees the intent, and the command's effect says
 * whether to run it again, to probe first, or to report the outcome as unknown.
 *
 * A running command can nest other work (nest.ts): it pushes a frame, and `advance` runs this same loop until the frame is popped.
 */
import { decide, type Move, type Rules } from "#core/decide.ts";
import { frameOfCall } from "#core/frames.ts";
import { listens } from "#core/inbox.ts";
import type { Lease } from "#core/ports/agent.ts";
import type { Clock } from "#core/ports/clock.ts";
import type { AgentState } from "#core/state.ts";
import { doWork } from "./do-work.ts";
import { type Isolation, leaveCommand } from "./isolate-call.ts";
import { type Journal, type JournalParts, openJournal } from "./journal.ts";
import type { Prepare } from "./perform.ts";
import type { Enter } from "./work.ts";

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
  /** Aborted when the host cuts the agent off. A command under way is then recorded as cut off. */
  readonly cutOff?: AbortSignal;
  /** Absent: no other agents run beside this one. */
  readonly isolation?: Isolation;
}

/** Runs one agent until it rests, pauses, or waits for something that this host does not wait for. */
export async function run(lease: Lease, parts: RunParts): Promise<AgentState> {
  const journal = await openJournal(lease, parts);
  try {
    await advance(journal, parts, () => false);
  } catch (thrown) {
    if (parts.cutOff?.aborted) await leaveCommand(journal).catch(() => undefined);
    throw thrown;
  }
  await leaveCommand(journal);
  return journal.state;
}

/** Moves the agent until `isOver` holds. Resolves to false when it rests, pauses or has to wait before. */
async function advance(journal: Journal, parts: RunParts, isOver: (state: AgentState) => boolean): Promise<boolean> {
  for (;;) {
    if (isOver(journal.state)) return true;
    if (listens(journal.state)) await journal.receiveInbox();
    const move = decide(journal.state, parts.rules, parts.clock.now());
    if (move.kind === "ask" && parts.draining?.aborted) {
      await journal.commit("now");
      return false;
    }
    switch (move.kind) {
      case "record":
        journal.record({ events: move.events });
        break;
      case "rest":
        await journal.commit(null);
        return false;
      case "wait":
        await journal.commit(move.until);
        if (!(await parts.wait(move, journal.state))) return false;
        break;
      case "ask":
      case "read":
      case "execute":
      case "probe": {
        const outcome = await doWork(move, journal, parts, enterAbove(move, journal, parts));
        if (!outcome) return false;
        journal.record(outcome);
        break;
      }
    }
  }
}

/** Runs the loop until the frame of this move is the innermost one again. */
function enterAbove(move: Move, journal: Journal, parts: RunParts): Enter {
  const below = "callId" in move ? frameOfCall(journal.state, move.callId)?.id : undefined;
  return async (push) => {
    journal.record({ events: push });
    return advance(journal, parts, ({ frames }) => frames.at(-1)?.id === below);
  };
}
