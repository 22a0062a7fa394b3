/** load-memory.ts -- loads memories from a store: pages, lists, and one row. */
import { GoaldError, isGoaldError } from "#core/errors.ts";
import { isLive, namespaceOf, SHARED_MEMORY } from "#core/memory.ts";
import type { MemoryRow } from "#core/ports/memory.ts";
import type { AgentRow, StoreReader } from "#core/ports/store.ts";
import { byChange, readPages } from "#util/read-pages.ts";
import { count, described, listOf, open, type Static, text } from "#util/schema.ts";
import { findAgent } from "./load-agent.ts";
import { MemoryView, RecallView, viewMemory } from "./memory-view.ts";

/** Which memory is read. */
export interface MemoryPlace {
  /** Id or name of an agent, or `shared`. */
  readonly name: string;
  /** The memory that all agents share, also when an agent is named. */
  readonly shared?: boolean;
}

export const MemoryList = open({
  namespace: described(text, "Id of the agent, or `shared`."),
  count: described(count, "Number of matching memories, listed or not."),
  pieces: described(count, "Number of pieces of long texts. They are listed only with the kind `piece`."),
  memories: described(listOf(MemoryView), "The newest first."),
});
export type MemoryList = Static<typeof MemoryList>;

export const MemoryPage = open({
  namespace: text,
  memories: described(listOf(MemoryView), "In the order of their last change."),
});
export type MemoryPage = Static<typeof MemoryPage>;

export const MemorySearch = open({
  namespace: text,
  query: text,
  recalls: described(listOf(RecallView), "Best first."),
});
export type MemorySearch = Static<typeof MemorySearch>;

export interface MemoryFilter {
  /** Includes forgotten and superseded rows, and those that hide another. Rows that an agent has hidden are always listed. */
  readonly all?: boolean;
  /** Without a kind, pieces are only counted. */
  readonly kind?: MemoryRow["kind"];
  readonly limit: number;
}

interface Namespace {
  readonly id: string;
  /** Undefined for the shared memory without an agent. */
  readonly row: AgentRow | undefined;
}

type FindReader = Pick<StoreReader, "agents" | "agent">;

/** Throws GOALD_NOT_FOUND for an unknown agent. */
export async function findNamespace(reader: FindReader, { name, shared = false }: MemoryPlace): Promise<Namespace> {
  const row = name === SHARED_MEMORY ? undefined : await findAgent(reader, name);
  return { id: !row || shared ? SHARED_MEMORY : row.id, row };
}

/** Rows whose `change` is above `after`; fewer than `limit` means the end. */
export async function loadMemoryPage(
  place: MemoryPlace,
  { after, limit }: { readonly after: number; readonly limit: number },
  reader: FindReader & Pick<StoreReader, "memories">,
): Promise<MemoryPage> {
  const { id } = await findNamespace(reader, place);
  return { namespace: id, memories: (await reader.memories(id, after, limit)).map(viewMemory) };
}

const PAGE = 500;

export async function listMemories(
  place: MemoryPlace,
  { all = false, kind, limit }: MemoryFilter,
  reader: FindReader & Pick<StoreReader, "memories">,
): Promise<MemoryList> {
  const { id } = await findNamespace(reader, place);
  const found: MemoryRow[] = [];
  const hiding = new Map<string, number>();
  let pieces = 0;
  const pages = readPages((after, most) => reader.memories(id, after, most), byChange, { limit: PAGE });
  for await (const page of pages)
    for (const row of page) {
      if (row.kind === "piece" && (all || isLive(row))) pieces += 1;
      if (isHiding(row)) hiding.set(row.id, row.step ?? 0);
      if (kind === undefined ? row.kind !== "piece" : row.kind === kind) found.push(row);
    }
  const rows = found.flatMap((row): MemoryView[] => {
    const hiddenInStep = row.forgotten === null ? hiding.get(row.supersededBy ?? "") : undefined;
    if (hiddenInStep !== undefined) return [{ ...viewMemory(row), hiddenInStep }];
    return all || isLive(row) ? [viewMemory(row)] : [];
  });
  rows.sort((a, b) => (a.at === b.at ? b.change - a.change : a.at < b.at ? 1 : -1));
  return { namespace: id, count: rows.length, pieces, memories: rows.slice(0, limit) };
}

/** True for a mark by which the agent hides another row, until a person forgets the mark. */
const isHiding = ({ kind, forgotten }: MemoryRow): boolean => kind === "forgetting" && forgotten === null;

/** `id`: whole, or its part after the slash (`12`, `4.1`, `+3`). Throws GOALD_NOT_FOUND. */
export async function loadMemory(
  place: MemoryPlace,
  id: string,
  reader: FindReader & Pick<StoreReader, "memory">,
): Promise<MemoryRow> {
  const namespace = await findNamespace(reader, place);
  const row = await findMemory(reader, wholeMemoryId(id, namespace.id));
  if (row) return row;
  const where = namespace.id === SHARED_MEMORY ? "the shared memory" : `the memory of ${namespace.id}`;
  throw new GoaldError("GOALD_NOT_FOUND", `There is no memory ${JSON.stringify(id)} in ${where}.`, {
    hint: `List the memories: goald memory ${namespace.row?.id ?? namespace.id} list`,
  });
}

/** `12`, `4.1` and `+3` are rows of the namespace; an id with a slash is whole. */
export const wholeMemoryId = (id: string, namespace: string): string => (id.includes("/") ? id : `${namespace}/${id}`);

/** Undefined when the row or its agent does not exist. */
export async function findMemory(reader: Pick<StoreReader, "memory">, id: string): Promise<MemoryRow | undefined> {
  try {
    return await reader.memory(namespaceOf(id), id);
  } catch (thrown) {
    if (isGoaldError(thrown, "GOALD_NOT_FOUND")) return undefined;
    throw thrown;
  }
}
