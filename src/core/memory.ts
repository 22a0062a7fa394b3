/** memory.ts -- what holds of memory rows wherever they are handled. */

/** The namespace that all agents of a home may read; no agent is ever called so. */
export const SHARED_MEMORY = "shared";

/** Neither forgotten nor superseded. Nothing else is ever recalled. */
export const isLive = (row: { readonly forgotten: string | null; readonly supersededBy: string | null }): boolean =>
  row.forgotten === null && row.supersededBy === null;
