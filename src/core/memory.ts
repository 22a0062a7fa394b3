/** memory.ts -- rules about memory rows that several rooms share. */
import type { Recall } from "./ports/recall.ts";
import type { OutsideSource } from "./provenance.ts";

/** The namespace that all agents of a home read; never an agent's id. */
export const SHARED_MEMORY = "shared";

/** The namespace in a memory's id: an agent's id, or SHARED_MEMORY. */
export const namespaceOf = (id: string): string => id.slice(0, Math.max(0, id.lastIndexOf("/")));

/** True for rows that may be recalled: neither forgotten nor superseded. */
export const isLive = (row: { readonly forgotten: string | null; readonly supersededBy: string | null }): boolean =>
  row.forgotten === null && row.supersededBy === null;

/**
 * Sources of the outside words that an agent receives with this row: a namespace may contain text from the web or from
 * other agents.
 */
export function sourcesOfRecall({ id, trust }: Pick<Recall, "id" | "trust">, agent: string): readonly OutsideSource[] {
  if (trust === "web") return [{ from: "web", name: "" }];
  const namespace = namespaceOf(id);
  return trust === "agent" && namespace !== agent ? [{ from: "agent", name: namespace }] : [];
}
