/** memory-view.ts -- memory rows without their vectors, for people and programs. */
import { hash } from "node:crypto";
import { GoaldError, ifNotFound } from "#core/errors.ts";
import { isLive, MEMORY_KINDS, namespaceOf, SHARED_MEMORY, TRUSTS } from "#core/memory.ts";
import type { ClosedFact, MemoryRow, Recall } from "#core/ports/memory.ts";
import type { StoreReader } from "#core/ports/store.ts";
import { describeReadBefore } from "#core/provenance.ts";
import { oneLine } from "#core/text.ts";
import { byChange, readPages } from "#util/read-pages.ts";
import {
  amount,
  count,
  described,
  flag,
  listOf,
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
import { findAgent } from "./read-agent.ts";

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
interface RecallView extends Omit<Recall, "focus" | "ranges" | "around" | "series"> {
  readonly excerpt?: string;
}
const RecallView: ObjectSchema<RecallView> = open(
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

/** Characters of an excerpt; shorter texts have none. */
const EXCERPT_CHARS = 720;

/** Loads what prompts do with a row, which lists of agents never need. */
export async function viewRecalls(recalls: readonly Recall[]): Promise<readonly RecallView[]> {
  const { excerptOf } = await import("#prompt/recalls.ts");
  return recalls.map(({ focus, around: _around, series: _series, ...recall }) => {
    if (!focus || recall.text.length <= EXCERPT_CHARS) return recall;
    const ranges = excerptOf({ ...recall, focus }, EXCERPT_CHARS);
    return { ...recall, excerpt: ranges.map(([from, to]) => recall.text.slice(from, to).toWellFormed()).join(" … ") };
  });
}

export const viewRow = ({ vector: _vector, ...row }: MemoryRow): MemoryView => row;

/** Equal for rows of equal content, in any home. */
export const identityOf = ({
  kind,
  text,
  source = null,
}: Pick<MemoryRow, "kind" | "text"> & { readonly source?: string | null }): string =>
  hash("sha256", JSON.stringify([kind, text, source]), "hex");

const TEXT_CHARS = 90;
const shortTime = (at: string): string => `${at.slice(0, 16).replace("T", " ")}Z`;

export const MEMORY_HEAD: readonly string[] = ["ID", "AT", "STEP", "KIND", "FROM", "VALIDITY", "TEXT"];

/** One line of a table under MEMORY_HEAD. */
export const memoryCells = (row: MemoryView): readonly string[] => [
  row.id,
  shortTime(row.at),
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
  return [matchOf(score), id, shortTime(at), what, describeOrigin(recall), oneLine(text, TEXT_CHARS)];
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

type FindReader = Pick<StoreReader, "agents" | "agent">;

/** `row`: undefined for the shared memory without an agent. Throws GOALD_NOT_FOUND for an unknown agent. */
export async function findNamespace(reader: FindReader, { name, shared = false }: MemoryPlace) {
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
  return { namespace: id, memories: (await reader.memories(id, after, limit)).map(viewRow) };
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
    if (hiddenInStep !== undefined) return [{ ...viewRow(row), hiddenInStep }];
    return all || isLive(row) ? [viewRow(row)] : [];
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
export const findMemory = (reader: Pick<StoreReader, "memory">, id: string): Promise<MemoryRow | undefined> =>
  reader.memory(namespaceOf(id), id).catch(ifNotFound(undefined));
