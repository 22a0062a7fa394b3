/** memory-space.ts -- finds the memory that a person names, and applies a person's changes of it. */
import { randomUUID } from "node:crypto";
import type { Reading } from "#api/control.ts";
import { conflict, GoaldError } from "#core/errors.ts";
import { isLive, namespaceOf, SHARED_MEMORY } from "#core/memory.ts";
import type { MemoryChange, MemoryChanged } from "#core/ports/memory.ts";
import { byChange, readPages } from "#util/read-pages.ts";
import { type MemoryPlace, type MemoryView, wholeMemoryId } from "#views/memory-view.ts";
import type { CliContext, GlobalOptions } from "./context.ts";
import { reachHost } from "./with-agent.ts";

export interface MemoryOptions extends GlobalOptions {
  readonly shared?: boolean;
}

export type Space = Awaited<ReturnType<typeof findSpace>>;

const PAGE = 500;

/** `name`: id or name of an agent, or `shared`. Throws GOALD_NOT_FOUND. */
export async function findSpace(reading: Pick<Reading, "memoryPage">, name: string, { shared = false }: MemoryOptions) {
  const place = { name, shared };
  const { namespace } = await reading.memoryPage(place, { after: 0, limit: 1 });
  return { place, namespace };
}

/** The name of a memory in sentences. */
export const titleOf = (namespace: string): string =>
  namespace === SHARED_MEMORY ? "the shared memory" : `the memory of ${namespace}`;

/** Yields rows in the order of their last change, including forgotten and superseded ones. */
export async function* allMemories(
  reading: Pick<Reading, "memoryPage">,
  place: MemoryPlace,
): AsyncGenerator<MemoryView> {
  const read = async (after: number, limit: number) => (await reading.memoryPage(place, { after, limit })).memories;
  for await (const page of readPages(read, byChange, { limit: PAGE })) yield* page;
}

/** Returns a row that can be changed here: the agent's own or a shared one. Throws GOALD_USAGE for another agent's. */
export async function requireOwn(
  reading: Pick<Reading, "memory">,
  given: string,
  { place, namespace }: Space,
): Promise<MemoryView> {
  const owner = namespaceOf(wholeMemoryId(given, namespace));
  if (owner !== namespace && owner !== SHARED_MEMORY)
    throw new GoaldError("GOALD_USAGE", `The memory ${given} does not belong to ${namespace}.`, {
      hint: `It belongs to ${owner}: goald memory ${owner} list`,
    });
  return reading.memory(place, given);
}

/** Throws GOALD_NOT_FOUND for a forgotten row, GOALD_CONFLICT for a superseded one. */
export function requireLive(row: MemoryView): void {
  if (isLive(row)) return;
  if (row.forgotten !== null) throw new GoaldError("GOALD_NOT_FOUND", `The memory ${row.id} was forgotten.`);
  if (row.supersededBy === null)
    throw conflict(
      `The memory ${row.id} only hides ${row.supersedes}.`,
      `Forget it to recall that one again: ${row.id}`,
    );
  throw conflict(`The memory ${row.id} was replaced by ${row.supersededBy}.`, `Change that one: ${row.supersededBy}`);
}

/**
 * Applies all of a person's memory changes through the daemon, or none. When it resolves, they are durable and the
 * agents' next recall uses them. Throws as `Store.curate`.
 */
export type Changer = (namespace: string, changes: readonly MemoryChange[]) => Promise<readonly MemoryChanged[]>;

/** Maximum changes and characters per request. A request body has at most 1 MB, and a character up to six bytes. */
const MAX_CHANGES = 200;
const MAX_CHARS = 120_000;

/** Starts the daemon when none runs. */
export async function openChanger(context: CliContext): Promise<Changer> {
  const client = await reachHost(context);
  return (namespace, changes) => client.changeMemory(namespace, changes, `memory/${randomUUID()}`);
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
