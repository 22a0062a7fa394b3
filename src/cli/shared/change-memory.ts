/**
 * change-memory.ts -- applies a person's memory changes through the host, or in the store if no host runs.
 *
 * When a change resolves, it is durable and the agents' next recall uses it. It starts no daemon.
 */
import { findHost } from "#api/auto-start.ts";
import { removeMemoryOf } from "#app/memory-folders.ts";
import { openOwnStore } from "#app/own-store.ts";
import { openHome } from "#config/open-home.ts";
import { isGoaldError } from "#core/errors.ts";
import { isForgetting } from "#core/memory.ts";
import type { MemoryChange, MemoryChanged } from "#core/ports/memory-row.ts";
import { systemClock } from "#util/clock.ts";
import { readVersion } from "../../shipped.ts";
import type { CliContext } from "./context.ts";

export interface Changer extends AsyncDisposable {
  /** Applies all changes or none. Throws as `Store.curate`. */
  change(namespace: string, changes: readonly MemoryChange[]): Promise<readonly MemoryChanged[]>;
}

/** Maximum changes and characters per request. A request body has at most 1 MB, and a character up to six bytes. */
const MAX_CHANGES = 200;
const MAX_CHARS = 120_000;
const ATTEMPTS = 3;
const PAUSE_MS = 200;

/** Throws GOALD_ALREADY_RUNNING when the host is a run that accepts no requests. */
export async function openChanger(context: CliContext): Promise<Changer> {
  for (let attempt = 1; ; attempt++) {
    const changer = (await throughHost(context)) ?? (await inStore(context, attempt === ATTEMPTS));
    if (changer) return changer;
    await systemClock.sleep(PAUSE_MS);
  }
}

export async function changeMemory(
  context: CliContext,
  namespace: string,
  changes: readonly MemoryChange[],
): Promise<readonly MemoryChanged[]> {
  await using changer = await openChanger(context);
  return changer.change(namespace, changes);
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

async function throughHost({ home }: CliContext): Promise<Changer | undefined> {
  const client = await findHost(home, { version: readVersion() });
  const nextKey = keys();
  return (
    client && {
      change: (namespace, changes) => client.changeMemory(namespace, changes, nextKey()),
      [Symbol.asyncDispose]: async () => undefined,
    }
  );
}

/**
 * Returns undefined when another process takes the lock first, since it may accept requests. Throws at the last
 * attempt.
 */
async function inStore({ home }: CliContext, isLast: boolean): Promise<Changer | undefined> {
  await openHome(home, process.getuid?.());
  try {
    const own = await openOwnStore(home);
    const nextKey = keys();
    return {
      async change(namespace, changes) {
        const changed = await own.store.curate(namespace, changes, nextKey(), systemClock.now().toISOString());
        if (changes.some(isForgetting)) await removeMemoryOf(home, namespace);
        return changed;
      },
      [Symbol.asyncDispose]: () => own[Symbol.asyncDispose](),
    };
  } catch (error) {
    if (isLast || !isGoaldError(error, "GOALD_ALREADY_RUNNING")) throw error;
    return undefined;
  }
}

/** Returns a function that returns a unique idempotency key for each call. */
function keys(): () => string {
  const begun = systemClock.now().toISOString();
  let count = 0;
  return () => `memory/${process.pid}/${begun}/${++count}`;
}
