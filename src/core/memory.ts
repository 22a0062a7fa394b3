/** memory.ts -- what holds of memory rows wherever they are handled. */
import type { Recall } from "./ports/recall.ts";

/** The namespace that all agents of a home may read; no agent is ever called so. */
export const SHARED_MEMORY = "shared";

/** Of a memory's id: the agent's id, or SHARED_MEMORY. */
export const namespaceOf = (id: string): string => id.slice(0, Math.max(0, id.lastIndexOf("/")));

/** Neither forgotten nor superseded. Nothing else is ever recalled. */
export const isLive = (row: { readonly forgotten: string | null; readonly supersededBy: string | null }): boolean =>
  row.forgotten === null && row.supersededBy === null;

/**
 * Whether recalling it is reading text from outside, as a page or another agent's answer is: what was read here is remembered
 * as the agent's own, but a namespace may hold what the web or other agents put there.
 */
export const isFromOutside = ({ id, trust }: Pick<Recall, "id" | "trust">, agent: string): boolean =>
  trust === "web" || (trust === "agent" && namespaceOf(id) !== agent);
