/**
 * change-memory.ts -- what a person changes in memory: through the host that is up, or in the store itself when none is.
 *
 * Either way it is durable and seen by the agents' next recall when it resolves; no daemon is started for it.
 */
import { findHost } from "#api/auto-start.ts";
import { openOwnStore } from "#app/own-store.ts";
import { openHome } from "#config/open-home.ts";
import { isGoaldError } from "#core/errors.ts";
import type { MemoryChange, MemoryChanged } from "#core/ports/memory-row.ts";
import { systemClock } from "#util/clock.ts";
import { readVersion } from "../../shipped.ts";
import type { CliContext } from "./context.ts";

export interface Changer extends AsyncDisposable {
  /** All or nothing. Throws as `Store.curate`. */
  change(namespace: string, changes: readonly MemoryChange[]): Promise<readonly MemoryChanged[]>;
}

/** Of one call: its body has at most a megabyte, and a character as many as six bytes. */
const MAX_CHANGES = 200;
const MAX_CHARS = 120_000;
const ATTEMPTS = 3;
const PAUSE_MS = 200;

/** Throws GOALD_ALREADY_RUNNING when the host is a run that takes no calls. */
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

/** In units that a host takes in one call. */
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

/** Undefined when somebody took the lock meanwhile, who may take calls; throws that when this is the last attempt. */
async function inStore({ home }: CliContext, isLast: boolean): Promise<Changer | undefined> {
  await openHome(home, process.getuid?.());
  try {
    const own = await openOwnStore(home);
    const nextKey = keys();
    return {
      change: (namespace, changes) => own.store.curate(namespace, changes, nextKey(), systemClock.now().toISOString()),
      [Symbol.asyncDispose]: () => own[Symbol.asyncDispose](),
    };
  } catch (error) {
    if (isLast || !isGoaldError(error, "GOALD_ALREADY_RUNNING")) throw error;
    return undefined;
  }
}

/** Of this process's calls, none twice. */
function keys(): () => string {
  const begun = systemClock.now().toISOString();
  let count = 0;
  return () => `memory/${process.pid}/${begun}/${++count}`;
}
