/**
 * own-memory.ts -- what an agent may change in its memory: rows that it left itself and that no person has pinned.
 *
 * An agent may have read text from outside, so its changes must cost a person nothing: a row that it replaces or hides is no longer
 * recalled, but its text stays for people.
 */
import type { Fact } from "./fact.ts";
import { namespaceOf } from "./memory.ts";
import type { MemoryRow, Trust } from "./ports/memory-row.ts";

/** The agent's own memory, as commands use it. */
export interface MemoryBook {
  /** Finds the facts about a subject and attribute. Throws GOALD_MEMORY when they have no letter or digit. */
  findFact(fact: Pick<Fact, "subject" | "attribute">): Promise<KnownFact>;
  /** Finds a row that the agent may replace or hide. `id`: as recalls show it. Throws GOALD_MEMORY with the reason for any other. */
  findOwn(id: string): Promise<MemoryRow>;
}

interface KnownFact {
  /** `MemoryRow.factKey` of facts about this. */
  readonly key: string;
  /** The agent's newest fact about it, when it can be recalled. */
  readonly holds?: MemoryRow;
  /** The agent's newest fact about it, when a person has corrected it, and the person's row. */
  readonly corrected?: { readonly row: MemoryRow; readonly by: MemoryRow };
}

const WHOSE: Readonly<Record<Exclude<Trust, "agent">, string>> = {
  person: "the words of a person",
  goald: "the words of goald",
  file: "a file that a person provided",
  web: "a text from the web",
};

/** Returns why the agent may not replace or hide the row, as a sentence; undefined when it may. */
export function refuseMemoryChange(id: string, row: MemoryRow | undefined, agent: string): string | undefined {
  const namespace = namespaceOf(id);
  if (namespace !== agent)
    return `The memory ${id} belongs to ${namespace === "" ? "nobody" : namespace}. You can change your own memories only, such as ${agent}/12.`;
  if (!row)
    return `There is no memory ${id}. Recalled memories begin with their id, such as [${agent}/12 | step 9 | …].`;
  if (row.forgotten !== null) return `The memory ${id} was forgotten already.`;
  if (row.kind === "forgetting") return `The memory ${id} only hides ${row.supersedes}.`;
  if (row.supersededBy !== null) return `The memory ${id} is never recalled again: ${row.supersededBy} came after it.`;
  if (row.trust !== "agent")
    return `The memory ${id} has ${WHOSE[row.trust]}. You can change only what you noted yourself.`;
  if (row.step === null) return `The memory ${id} was added by a person. You can change only what you noted yourself.`;
  if (row.pinned) return `A person has pinned the memory ${id}, so only a person can change it.`;
  return undefined;
}

/** Returns the whole id of a memory as models write it: "[foo/12.1 | step 9", "foo/12.1" or "12.1". */
export function readMemoryId(written: string, agent: string): string {
  const id = /[^\s[\]|,"'`]+/.exec(written)?.[0] ?? "";
  return id.includes("/") ? id : `${agent}/${id}`;
}
