/**
 * batched-commits.ts -- commits the intents of pure calls in batches, so that 1,000 `read_file` of a cell are not 1,000 commits.
 *
 * A nested call that changes nothing and reaches nothing outside may run before its intent is durable: after a crash it was
 * never made, and the code makes it again. Its events become durable with the next intent of any other call, or here: after
 * 100 calls or, unless the agent is recorded, one second. Nothing is shown before, and what the code does with the result
 * needs an intent of its own.
 */
import type { Move, Rules } from "#core/decide.ts";
import { isNestedCall } from "#core/frames.ts";
import type { Lease } from "#core/ports/store.ts";
import { openCommand } from "#core/state.ts";
import { type Journal, type Outcome, openJournal } from "./journal.ts";
import type { RunParts } from "./run-parts.ts";

const MAX_BATCH_CALLS = 100;
const MAX_BATCH_MS = 1_000;

/** State that all moves of one run share. */
export interface RunContext {
  readonly journal: Journal;
  readonly batch: ReturnType<typeof openBatch>;
}

export async function openRunContext(lease: Lease, parts: RunParts): Promise<RunContext> {
  const journal = await openJournal(lease, parts);
  return { journal, batch: openBatch(journal, parts.hasNoTimedCommits !== true) };
}

function openBatch(journal: Journal, isTimed: boolean) {
  let calls = 0;
  let durable = journal.durable;
  let timer: ReturnType<typeof setTimeout> | undefined;
  let committing: Promise<unknown> = Promise.resolve();
  let hasFailed = false;
  const commitBatch = (): void => {
    timer = undefined;
    committing = journal.commit().catch(() => {
      hasFailed = true;
    });
  };
  return {
    /** Returns false when the intent has to be durable now. */
    mayBatch(): boolean {
      if (durable !== journal.durable) calls = 0;
      durable = journal.durable;
      calls++;
      // After a failure the loop commits itself, and so reads the reason.
      if (hasFailed || calls >= MAX_BATCH_CALLS) {
        hasFailed = false;
        return false;
      }
      if (isTimed) timer ??= setTimeout(commitBatch, MAX_BATCH_MS);
      return true;
    },
    /** Waits for a commit of its own. What it could not commit stays in the journal's draft. */
    async close(): Promise<void> {
      clearTimeout(timer);
      await committing;
    },
  };
}

/** True for a nested call whose intent may become durable after the call has begun. */
export function mayCommitLater(move: Move, { state }: Journal, { facts }: Rules, { files = [] }: Outcome): boolean {
  if (move.kind !== "execute" || move.attempt > 1 || !isNestedCall(move.callId) || state.deaths > 0) return false;
  const { call, intent } = openCommand(state, move.callId) ?? {};
  const command = facts(call?.name ?? "");
  const isInside = command?.effect === "pure" && command.annotations.openWorld !== true;
  return isInside && intent?.reserved === undefined && files.length === 0;
}
