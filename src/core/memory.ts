/** memory.ts -- rules about memory rows that several rooms share. */
import type { EventOf } from "./event.ts";
import type { MemoryChange, MemoryRow } from "./ports/memory-row.ts";
import type { RecalledRow } from "./ports/recall.ts";
import type { OutsideSource } from "./provenance.ts";

/** The namespace that all agents of a home read; never an agent's id. */
export const SHARED_MEMORY = "shared";

/** The namespace in a memory's id: an agent's id, or SHARED_MEMORY. */
export const namespaceOf = (id: string): string => id.slice(0, Math.max(0, id.lastIndexOf("/")));

/** Orders the rows of one memory as they came. Rows that people added (`+n`) come before those of steps. */
export function orderOf(id: string): number {
  const [, seq = "0", of = "0", added] = /\/(?:(\d+)(?:\.(\d+))?|\+(\d+))$/.exec(id) ?? [];
  return Number(seq) * ROWS_PER_EVENT + Number(added ?? of);
}
const ROWS_PER_EVENT = 2 ** 20;

/** Ids of all rows that a prompt showed: its recalls, and the rows shown with them. */
export const shownIds = ({ recallIds, shown = [] }: Pick<EventOf<"model-asked">, "recallIds" | "shown">): string[] => [
  ...new Set([
    ...recallIds,
    ...shown.flatMap((recall) => [...(recall.with ?? []).map(({ id }) => id), ...(recall.series ?? [])]),
  ]),
];

/** True for rows that may be recalled: neither forgotten nor superseded, and not only a mark that hides another row. */
export const isLive = (row: Pick<MemoryRow, "kind" | "forgotten" | "supersededBy">): boolean =>
  row.forgotten === null && row.supersededBy === null && row.kind !== "forgetting";

/** A closed fact that a person has pinned counts as one that holds, because an agent cannot overrule a person. */
export const isPast = ({ closed, pinned }: Pick<MemoryRow, "closed" | "pinned">): boolean =>
  closed !== undefined && !pinned;

/** True for a person's wish to forget: the text and all that was made from it have to go. */
export const isForgetting = (change: MemoryChange): boolean => change.op === "forget" && change.by === "person";

/**
 * Sources of the outside words that an agent receives with this row. A row of another namespace may contain text from the web
 * or from other agents. `trustedSeq`: the event up to which a person trusts the agent's own words.
 */
export function sourcesOfRecall(
  { id, trust, outside = [], seq = Number.POSITIVE_INFINITY }: Pick<RecalledRow, "id" | "trust" | "outside" | "seq">,
  agent: string,
  trustedSeq = 0,
): readonly OutsideSource[] {
  const namespace = namespaceOf(id);
  if (namespace === agent && seq < trustedSeq) return [];
  if (trust === "agent" && namespace !== agent) return [{ from: "agent", name: namespace }, ...outside];
  return trust === "web" && outside.length === 0 ? [{ from: "web", name: "" }] : outside;
}
