/**
 * change-memory.ts -- applies a person's memory changes through the daemon.
 *
 * When a change resolves, it is durable and the agents' next recall uses it.
 */
import type { MemoryChange, MemoryChanged } from "#core/ports/memory.ts";
import { systemClock } from "#util/clock.ts";
import type { CliContext } from "./context.ts";
import { reachHost } from "./reach.ts";

/** Applies all changes or none. Throws as `Store.curate`. */
export type Changer = (namespace: string, changes: readonly MemoryChange[]) => Promise<readonly MemoryChanged[]>;

/** Maximum changes and characters per request. A request body has at most 1 MB, and a character up to six bytes. */
const MAX_CHANGES = 200;
const MAX_CHARS = 120_000;

/** Starts the daemon when none runs. */
export async function openChanger(context: CliContext): Promise<Changer> {
  const client = await reachHost(context);
  const nextKey = keys();
  return (namespace, changes) => client.changeMemory(namespace, changes, nextKey());
}

export async function changeMemory(
  context: CliContext,
  namespace: string,
  changes: readonly MemoryChange[],
): Promise<readonly MemoryChanged[]> {
  return (await openChanger(context))(namespace, changes);
}

/** Splits items into units that fit into one request to a host. */
export function* inUnits<Item>(items: readonly Item[], lengthOf: (item: Item) => number): Generator<readonly Item[]> {
  let unit: Item[] = [];
  let length = 0;
  for (const item of items) {
    if (unit.length >= MAX_CHANGES || (unit.length > 0 && length + lengthOf(item) > MAX_CHARS)) {
      yield unit;
      unit = [];
      length = 0;
    }
    unit.push(item);
    length += lengthOf(item);
  }
  if (unit.length > 0) yield unit;
}

export const lengthOfChange = (change: MemoryChange): number => (change.op === "add" ? change.text.length : 0);

/** Returns a function that returns a unique idempotency key for each call. */
function keys(): () => string {
  const begun = systemClock.now().toISOString();
  let count = 0;
  return () => `memory/${process.pid}/${begun}/${++count}`;
}
