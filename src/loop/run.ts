/**
 * run.ts -- the main loop. Read this file first.
 *
 *   state --decide--> move --prepare--> intent --commit--> perform --record--> state
 *
 * The law of this loop: an intent is durable before its effect begins. A process that is killed between any two lines
 * leaves a log that says what was about to happen. The next process continues from there: `decide` sees the intent, and
 * the command's effect says whether to run it again, to probe first, or to report the outcome as unknown.
 *
 * A running command can nest other work (nested-work.ts): it pushes a frame, and `advance` runs this same loop until the
 * frame is popped.
 */
import { decide, isBetweenCalls, listens, type Move } from "#core/decide.ts";
import type { NewEvent } from "#core/event.ts";
import { frameOwning } from "#core/frames.ts";
import type { Lease } from "#core/ports/store.ts";
import type { AgentState } from "#core/state.ts";
import { openRunContext, type RunContext } from "./batched-commits.ts";
import { leaveAfter } from "./isolate-call.ts";
import { completeEvents, performMove, type RunParts } from "./run-parts.ts";

/** Runs one agent until it rests, pauses, or waits for something that this host does not wait for. */
export async function run(lease: Lease, parts: RunParts): Promise<AgentState> {
  const open = await openRunContext(lease, parts);
  const running = advance(open, parts, () => false).finally(() => open.batch.close());
  await leaveAfter(running, open.journal, parts);
  return open.journal.state;
}

/** Moves the agent until `isOver` holds. Resolves to false when it rests, pauses or has to wait before. */
async function advance(open: RunContext, parts: RunParts, isOver: (state: AgentState) => boolean): Promise<boolean> {
  const { journal } = open;
  for (;;) {
    if (isOver(journal.state)) return true;
    if (listens(journal.state)) await journal.receiveInbox();
    const move = decide(journal.state, parts.rules, parts.clock.now());
    if (parts.draining?.aborted && isBetweenCalls(move)) {
      await journal.commit("now");
      return false;
    }
    switch (move.kind) {
      case "record":
        journal.record(await completeEvents(move.events, journal, parts));
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
      case "probe":
        if (!(await performMove(move, open, parts, (push) => runUntilPopped(push, move, open, parts)))) return false;
        break;
    }
  }
}

/** Runs the loop until the frame of this move is the innermost one again. */
async function runUntilPopped(push: readonly NewEvent[], move: Move, open: RunContext, parts: RunParts) {
  const below = "callId" in move ? frameOwning(open.journal.state, move.callId)?.id : undefined;
  open.journal.record({ events: push });
  return advance(open, parts, ({ frames }) => frames.at(-1)?.id === below);
}
