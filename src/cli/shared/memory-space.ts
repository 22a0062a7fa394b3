/** memory-space.ts -- which memory a person means, and which row of it. */
import { GoaldError } from "#core/errors.ts";
import { isLive, namespaceOf, SHARED_MEMORY } from "#core/memory.ts";
import type { AgentRow } from "#core/ports/agent.ts";
import type { MemoryRow } from "#core/ports/memory-row.ts";
import type { StoreReader } from "#core/ports/store.ts";
import { findMemory } from "#views/find-memory.ts";
import { findAgent } from "#views/load-agent.ts";
import type { GlobalOptions } from "./context.ts";

export interface MemoryOptions extends GlobalOptions {
  /** The memory that all agents of the home read. */
  readonly shared?: boolean;
}

export interface Space {
  readonly namespace: string;
  /** The agent that was named; undefined when it was the shared memory itself. */
  readonly row: AgentRow | undefined;
  /** What it is called in sentences. */
  readonly title: string;
}

const PAGE = 500;

/** `name`: id or name of an agent, or `shared`. Throws GOALD_NOT_FOUND. */
export async function findSpace(
  reader: Pick<StoreReader, "agents" | "agent">,
  name: string,
  { shared = false }: MemoryOptions,
): Promise<Space> {
  const row = name === SHARED_MEMORY ? undefined : await findAgent(reader, name);
  if (!row || shared) return { namespace: SHARED_MEMORY, row, title: "the shared memory" };
  return { namespace: row.id, row, title: `the memory of ${row.id}` };
}

/** In the order of their last change; those too that were forgotten or superseded. */
export async function* allMemories(
  reader: Pick<StoreReader, "memories">,
  namespace: string,
): AsyncGenerator<MemoryRow> {
  for (let after = 0; ; ) {
    const page = await reader.memories(namespace, after, PAGE);
    yield* page;
    if (page.length < PAGE) return;
    after = page.at(-1)?.change ?? after;
  }
}

/** `12`, `4.1` and `+3` are rows of the space; a whole id may be of any agent. */
export const wholeId = (given: string, { namespace }: Space): string =>
  given.includes("/") ? given : `${namespace}/${given}`;

/** Throws GOALD_NOT_FOUND. */
export async function requireMemory(
  reader: Pick<StoreReader, "memory">,
  given: string,
  space: Space,
): Promise<MemoryRow> {
  const id = wholeId(given, space);
  const row = await findMemory(reader, id);
  if (row) return row;
  throw new GoaldError("GOALD_NOT_FOUND", `There is no memory ${JSON.stringify(given)} in ${space.title}.`, {
    hint: `See what there is: goald memory ${space.row?.id ?? space.namespace} list`,
  });
}

/** One that may be changed from here: the agent's own, or a shared one. Throws GOALD_USAGE for another agent's. */
export async function requireOwn(reader: Pick<StoreReader, "memory">, given: string, space: Space): Promise<MemoryRow> {
  const owner = namespaceOf(wholeId(given, space));
  if (owner !== space.namespace && owner !== SHARED_MEMORY)
    throw new GoaldError("GOALD_USAGE", `The memory ${given} is none of ${space.namespace}.`, {
      hint: `Name its agent: goald memory ${owner} show ${given}`,
    });
  return requireMemory(reader, given, space);
}

/** Throws GOALD_NOT_FOUND for a row that was forgotten, GOALD_CONFLICT for one that another took the place of. */
export function requireLive(row: MemoryRow): void {
  if (isLive(row)) return;
  if (row.forgotten !== null) throw new GoaldError("GOALD_NOT_FOUND", `The memory ${row.id} was forgotten.`);
  throw new GoaldError("GOALD_CONFLICT", `${row.supersededBy} has taken the place of the memory ${row.id}.`, {
    hint: `Change that one: ${row.supersededBy}`,
  });
}
