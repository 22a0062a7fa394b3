/** memory.ts -- rules about memory rows that several rooms share. */
import type { Recall } from "./ports/recall.ts";

/** The namespace that all agents of a home read; never an agent's id. */
export const SHARED_MEMORY = "shared";

/** The namespace in a memory's id: an agent's id, or SHARED_MEMORY. */
export const namespaceOf = (id: string): string => id.slice(0, Math.max(0, id.lastIndexOf("/")));

/** True for rows that may be recalled: neither forgotten nor superseded. */
export const isLive = (row: { readonly forgotten: string | null; readonly supersededBy: string | null }): boolean =>
  row.forgotten === null && row.supersededBy === null;

/**
 * Whether recalling this row taints the agent, as reading a page does: a namespace may contain text
 * from the web or from other agents.
 */
export const isFromOutside = ({ id, trust }: Pick<Recall, "id" | "trust">, agent: string): boolean =>
  trust === "web" || (trust === "agent" && namespaceOf(id) !== agent);
