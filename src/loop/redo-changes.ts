/**
 * redo-changes.ts -- what nested cells did to a namespace before a crash, for the cell around them when it runs again.
 *
 * A repeated cell gets recorded results of nested work, and so the cells of that work do not run. Their changes are in the log.
 */

import type { EventOf } from "#core/event.ts";
import type { NamespaceChange } from "#core/ports/sandbox.ts";
import { openCommand } from "#core/state.ts";
import { bySeq, readPages } from "#util/read-pages.ts";
import type { Journal } from "./journal.ts";
import { restoreValue } from "./stored-values.ts";

const PAGE_EVENTS = 500;

/** Cells inside nested work such as c7.2, in a part of the log: events with `after` < seq <= `last`. */
interface Searched {
  readonly path: string;
  readonly after: number;
  readonly last: number;
  /** A call whose own nested work does not count. */
  readonly except?: string;
}

/** The changes of all these cells, joined in order; undefined for none. */
export async function changesWithin(searched: Searched, journal: Journal): Promise<NamespaceChange | undefined> {
  const { path, after, last, except } = searched;
  const changes: NamespaceChange[] = [];
  for await (const events of readPages(journal.eventsAfter, bySeq, { limit: PAGE_EVENTS, after })) {
    for (const event of events) {
      if (event.seq > last) break;
      if (event.type !== "namespace-saved" || !event.change) continue;
      const isInside = isWithin(event.callId, path) && !(except !== undefined && isWithin(event.callId, except));
      if (isInside) changes.push(await restoreChange(event.change, journal));
    }
    if ((events.at(-1)?.seq ?? last) >= last) break;
  }
  return changes.length === 0 ? undefined : joinChanges(changes);
}

/**
 * Returns what a cell inside unfinished nested work has to redo before its code, when the command around that work runs again:
 * changes of cells that ended before. Undefined for the next cells, and when there are none.
 */
export async function changesToRedo(callId: string, journal: Journal): Promise<NamespaceChange | undefined> {
  const { frames } = journal.state;
  const { origin, path } = frames.findLast((frame) => frame.origin !== null && isWithin(callId, frame.path)) ?? {};
  if (!origin || path === undefined) return undefined;
  const startedAt = openCommand(journal.state, origin.callId)?.intent?.seq ?? 0;
  if (startedAt < origin.seq) return undefined;
  const cells = { path, except: callId };
  if (await changesWithin({ ...cells, after: startedAt, last: journal.head }, journal)) return undefined;
  return changesWithin({ ...cells, after: origin.seq, last: startedAt }, journal);
}

/** A call of a run, such as c7.2.c1 of c7.2, or deeper. */
const isWithin = (callId: string, path: string): boolean => callId.startsWith(`${path}.`);

async function restoreChange(
  change: NonNullable<EventOf<"namespace-saved">["change"]>,
  { read }: Journal,
): Promise<NamespaceChange> {
  return (await restoreValue(change, read)) as NamespaceChange;
}

/** A later definition of a name replaces an earlier one, and comes after it. */
function joinChanges(changes: readonly NamespaceChange[]): NamespaceChange {
  const definitions = new Map<string, string | null>();
  const values = new Map<string, string | null>();
  for (const change of changes) {
    for (const [name, source] of change.definitions) {
      definitions.delete(name);
      definitions.set(name, source);
    }
    for (const [name, value] of Object.entries(change.values)) values.set(name, value);
  }
  return { definitions: [...definitions], values: Object.fromEntries(values) };
}
