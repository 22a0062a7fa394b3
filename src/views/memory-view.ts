/** memory-view.ts -- memory rows without their vectors, for people and programs. */
import { hash } from "node:crypto";
import type { ClosedFact, MemoryRow, Recall } from "#core/ports/memory.ts";
import { describeReadBefore } from "#core/provenance.ts";
import { oneLine } from "#core/text.ts";
import {
  amount,
  count,
  described,
  flag,
  nullable,
  type ObjectSchema,
  oneOf,
  open,
  type SchemasOf,
  type Static,
  text,
  time,
} from "#util/schema.ts";
import { OutsideSources } from "./parts.ts";

export const MEMORY_KINDS = [
  "step",
  "turn",
  "fact",
  "note",
  "file_chunk",
  "reflection",
  "piece",
  "forgetting",
] as const;
export const TRUSTS = ["person", "agent", "goald", "file", "web"] as const;

const kind = oneOf(...MEMORY_KINDS);
const trust = oneOf(...TRUSTS);

const Closed = open({
  by: described(text, "The newer fact about the same thing."),
  step: described(nullable(count), "Its step; null when no step made it."),
});

type ViewedMemory = Omit<MemoryRow, "vector"> & {
  /** Step in which the agent hid the row with `forget_memory`. */
  readonly hiddenInStep?: number;
};
export const MemoryView: ObjectSchema<ViewedMemory> = open(
  {
    id: text,
    namespace: described(text, "Id of an agent, or `shared`."),
    kind,
    text,
    importance: amount,
    trust,
    seq: count,
    step: described(nullable(count), "Null for a memory that no step left."),
    at: time,
    change: described(count, "Counted within the namespace; a row that changes gets the next number."),
    supersedes: nullable(text),
    supersededBy: nullable(text),
    key: nullable(text),
    source: described(nullable(text), "The file, page or call that has its text."),
    outside: described(OutsideSources, "Sources of the outside words that it may hold. Absent: none."),
    factKey: described(text, "Hash of what a fact is about. Absent: not a fact with a subject and an attribute."),
    closed: described(Closed, "A fact that was true until the newer one was noted. Absent: it holds."),
    hiddenInStep: described(count, "Step in which the agent hid it; only in lists. Absent: not hidden."),
    pinned: flag,
    forgotten: nullable(oneOf("person", "source")),
    embedder: described(nullable(text), "Null while the vector is pending."),
  } satisfies SchemasOf<ViewedMemory>,
  "outside",
  "factKey",
  "closed",
  "hiddenInStep",
);
export type MemoryView = Static<typeof MemoryView>;

/** A recall without the rows around it. */
interface RecallView extends Omit<Recall, "ranges" | "around" | "series"> {
  readonly excerpt?: string;
}
export const RecallView: ObjectSchema<RecallView> = open(
  {
    id: text,
    seq: count,
    step: nullable(count),
    at: time,
    kind,
    trust,
    text,
    excerpt: described(text, "The part of a long text that matches the query."),
    outside: OutsideSources,
    closed: described(Closed, "A fact that was true until the newer one was noted. Absent: it holds."),
    score: { type: "number" },
  } satisfies SchemasOf<RecallView>,
  "seq",
  "excerpt",
  "outside",
  "closed",
);

export const viewRecall = ({ ranges, around: _around, series: _series, ...recall }: Recall): RecallView => ({
  ...recall,
  ...(ranges ? { excerpt: ranges.map(([from, to]) => recall.text.slice(from, to).toWellFormed()).join(" … ") } : {}),
});

export const viewMemory = ({ vector: _vector, ...row }: MemoryRow): MemoryView => row;

/** Equal for rows of equal content, in any home. */
export const identityOf = ({
  kind,
  text,
  source = null,
}: Pick<MemoryRow, "kind" | "text"> & { readonly source?: string | null }): string =>
  hash("sha256", JSON.stringify([kind, text, source]), "hex");

const TEXT_CHARS = 90;

export const MEMORY_HEAD: readonly string[] = ["ID", "AT", "STEP", "KIND", "FROM", "VALIDITY", "TEXT"];

/** One line of a table under MEMORY_HEAD. */
export const memoryCells = (row: MemoryView): readonly string[] => [
  row.id,
  row.at.slice(0, 16).replace("T", " "),
  row.step === null ? "" : String(row.step),
  row.kind,
  describeOrigin(row),
  validityOf(row),
  oneLine(row.text, TEXT_CHARS),
];

export const RECALL_HEAD: readonly string[] = ["MATCH", "ID", "AT", "KIND", "FROM", "TEXT"];

export const recallCells = (recall: RecallView): readonly string[] => {
  const { score, id, at, kind, text, closed } = recall;
  const what = closed ? `${kind}, ${describeEnd(closed)}` : kind;
  const when = at.slice(0, 16).replace("T", " ");
  return [matchOf(score), id, when, what, describeOrigin(recall), oneLine(text, TEXT_CHARS)];
};

/** Whose words it contains, such as `agent, after the web`. */
const describeOrigin = (row: Pick<RecallView, "trust" | "outside">): string => `${row.trust}${describeReadBefore(row)}`;

/**
 * A score in words. Scores are about 1 for the best row of a query; rows that no search found are below 0.01. From 0.9 on 21 % of
 * the rows held the evidence in traces and 46 % in chats, from 0.3 on 8 % and 7 %, below 3 % and 2 %.
 */
function matchOf(score: number): string {
  if (score >= 0.9) return "strong match";
  if (score >= 0.3) return "good match";
  return score >= 0.01 ? "weak match" : "no match";
}

/** Empty for a row that holds and may be recalled. */
export function validityOf({ pinned, forgotten, supersededBy, closed, hiddenInStep }: MemoryView): string {
  if (forgotten !== null) return forgotten === "person" ? "forgotten" : "gone from its source";
  if (hiddenInStep !== undefined) return `hidden by the agent in step ${hiddenInStep}`;
  if (supersededBy !== null) return `replaced by ${supersededBy}`;
  if (pinned) return "pinned";
  return closed ? describeEnd(closed) : "";
}

/** "until step 41" */
const describeEnd = ({ step }: ClosedFact): string => (step === null ? "no longer true" : `until step ${step}`);
