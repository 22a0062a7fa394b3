/** memory-store-rows.ts -- memory rows of the store in memory: added, replaced, pinned, forgotten. */
import { compareWords, isLive, isReplacedPiece } from "#core/memory.ts";
import type { MemoryChange, MemoryChanged, MemoryRow, NewMemory } from "#core/ports/memory.ts";
import { wellFormed } from "#core/text.ts";
import { correctedHash, correctedHashes, forgottenError, supersededError } from "#store/curate.ts";
import { throwNoMemory } from "#store/memory-rows.ts";

const nextChange = (memories: readonly MemoryRow[]): number => 1 + Math.max(0, ...memories.map(({ change }) => change));

export function curateOne(
  memories: MemoryRow[],
  namespace: string,
  head: number,
  change: MemoryChange,
  at: string,
): MemoryChanged {
  if (change.op === "add") return addOne(memories, namespace, head, change, at);
  const place = memories.findIndex(({ id }) => id === change.id);
  const row = memories[place] ?? throwNoMemory(change.id);
  const put = (changed: Partial<MemoryRow>): MemoryChanged => {
    memories[place] = { ...row, ...changed, change: nextChange(memories) };
    return { id: row.id, isNew: true };
  };
  if (change.op === "forget") {
    if (row.forgotten === change.by || row.forgotten === "person") return { id: row.id, isNew: false };
    const same = change.copies === true && row.forgotten === null ? sameAs(row, memories) : NOTHING_SAME;
    const gone = { text: "", vector: null, embedder: null, pinned: false, forgotten: change.by };
    const forgotten = put(gone);
    for (const copy of same.copies) changeRow(memories, copy, gone);
    for (const { id, kind } of [row, ...same.copies]) {
      const hidden = memories.find((each) => kind === "forgetting" && each.supersededBy === id);
      if (hidden) changeRow(memories, hidden, { supersededBy: null });
    }
    return { ...forgotten, ...idsOf(same) };
  }
  if (row.forgotten !== null) throw forgottenError(row.id);
  const pinned = change.op === "pin";
  if (row.pinned === pinned) return { id: row.id, isNew: false };
  if (pinned && row.supersededBy !== null) throw supersededError(row.id, row.supersededBy);
  return put({ pinned });
}

/** Finds the row that prevents another one of this key. */
function findKnown(memories: readonly MemoryRow[], key: string | undefined): MemoryRow | undefined {
  const trustOf = (id: string | null) => memories.find((row) => row.id === id)?.trust;
  const prevents = (row: MemoryRow): boolean =>
    row.forgotten === "person" || trustOf(row.supersededBy) === "person" || isLive(row);
  return key === undefined ? undefined : memories.find((row) => row.key === key && prevents(row));
}

export const isKnownPiece = (memories: readonly MemoryRow[], { kind, key }: NewMemory): boolean =>
  kind === "piece" && findKnown(memories, key) !== undefined;

export function replacePieces(
  memories: MemoryRow[],
  { seq, replaces, namespace }: NewMemory,
  all: readonly NewMemory[],
): void {
  if (!replaces) return;
  const keys = all.filter((memory) => memory.seq === seq).map(({ key }) => key);
  for (const [place, row] of memories.entries()) {
    const isOfSource = row.kind === "piece" && row.source === replaces.source && row.seq < seq && isLive(row);
    if (!isOfSource || keys.includes(row.key ?? undefined) || !isReplacedPiece(row.text, replaces.lines)) continue;
    memories[place] = { ...row, supersededBy: `${namespace}/${seq}`, change: nextChange(memories) };
  }
}

function addOne(
  memories: MemoryRow[],
  namespace: string,
  seq: number,
  { op: _op, supersedes, key, source, copies = false, ...given }: MemoryChange & { readonly op: "add" },
  at: string,
): MemoryChanged {
  const known = findKnown(memories, key);
  if (known) return { id: known.id, isNew: false };
  const old =
    supersedes === undefined ? undefined : (memories.find(({ id }) => id === supersedes) ?? throwNoMemory(supersedes));
  if (old && old.forgotten !== null) throw forgottenError(old.id);
  if (old?.supersededBy) throw supersededError(old.id, old.supersededBy);
  const made = 1 + Math.max(0, ...memories.map(({ id }) => Number(/\/\+(\d+)$/.exec(id)?.[1] ?? 0)));
  const id = `${namespace}/+${made}`;
  const text = wellFormed(given.text);
  const same = old && copies ? sameAs(old, memories, text) : NOTHING_SAME;
  insertRow(memories, { ...BLANK, ...given, namespace, seq, id, at, text }, { supersedes, key, source });
  for (const copy of same.copies) changeRow(memories, copy, { supersededBy: id });
  return { id, isNew: true, ...idsOf(same) };
}

interface Same {
  readonly copies: readonly MemoryRow[];
  readonly alike: readonly MemoryRow[];
}
const NOTHING_SAME: Same = { copies: [], alike: [] };

function sameAs(wanted: MemoryRow, memories: readonly MemoryRow[], correction?: string): Same {
  const [whole = "", act] = correctedHashes(wanted.text);
  const hash = correction === undefined ? whole : correctedHash(wanted.text, correction);
  const others = memories
    .filter((row) => row !== wanted && row.forgotten === null)
    .filter((row) => correction === undefined || row.supersededBy === null)
    .sort((a, b) => a.change - b.change);
  const isOfEvent = ({ id }: MemoryRow): boolean => !id.includes("/+");
  const same = others.filter((row) => correctedHashes(row.text).includes(hash));
  const events = new Set([wanted, ...same].filter(isOfEvent).map(({ seq }) => seq));
  const isOfSameEvent = (row: MemoryRow): boolean => isOfEvent(row) && events.has(row.seq);
  const isPiece = ({ kind }: MemoryRow): boolean => (kind as string) === "piece";
  const takesPieces = correction === undefined && !isPiece(wanted);
  const copies = others.filter((row) => same.includes(row) || (takesPieces && isPiece(row) && isOfSameEvent(row)));
  const turnOf = ({ seq }: MemoryRow): MemoryRow | undefined =>
    others
      .filter((row) => isOfEvent(row) && row.kind === "turn" && row.seq >= seq)
      .reduce<MemoryRow | undefined>((first, row) => (first && first.seq <= row.seq ? first : row), undefined);
  const turns = new Set([wanted, ...copies].filter(isOfEvent).map(turnOf));
  const likeness = compareWords(wanted.text);
  const isAlike = ({ text }: MemoryRow): boolean =>
    (act !== undefined && correctedHashes(text).includes(act)) || likeness(text) >= 0.7;
  const alike = others.filter(
    (row) =>
      row.supersededBy === null && !copies.includes(row) && (isAlike(row) || isOfSameEvent(row) || turns.has(row)),
  );
  return { copies, alike: alike.slice(-20) };
}

const idsOf = ({ copies, alike }: Same): Partial<MemoryChanged> => ({
  ...(copies.length > 0 ? { copies: copies.map(({ id }) => id) } : {}),
  ...(alike.length > 0 ? { alike: alike.map(({ id }) => id) } : {}),
});

function changeRow(memories: MemoryRow[], { id }: MemoryRow, changed: Partial<MemoryRow>): void {
  const place = memories.findIndex((row) => row.id === id);
  memories[place] = { ...(memories[place] as MemoryRow), ...changed, change: nextChange(memories) };
}

/** Replaces a new row, by others than a person, that says the same as one that a person corrected. */
function replaceAgain(memories: MemoryRow[], added: MemoryRow): void {
  const hashes = correctedHashes(added.text);
  const isSaidAgain = ({ text, change }: MemoryRow): boolean =>
    memories.some(
      (row) =>
        row.trust === "person" && row.change > change && correctedHashes(row.text)[0] === correctedHashes(text)[0],
    );
  const wrong = memories.findLast((row) => {
    const by = memories.find(({ id }) => id === row.supersededBy);
    if (by?.trust !== "person" || row.forgotten !== null || !hashes.includes(correctedHash(row.text, by.text)))
      return false;
    return !isSaidAgain(row);
  });
  if (wrong) changeRow(memories, added, { supersededBy: wrong.supersededBy });
}

export const BLANK = {
  step: null,
  supersededBy: null,
  pinned: false,
  forgotten: null,
  embedder: null,
  vector: null,
} as const;

type Named = "supersedes" | "key" | "source";

export function insertRow(
  memories: MemoryRow[],
  row: Omit<MemoryRow, "change" | Named>,
  { supersedes, key, source }: Partial<Record<Named, string | undefined>>,
): void {
  const more = { supersedes: supersedes ?? null, key: key ?? null, source: source ?? null };
  closeFact(memories, row);
  memories.push({ ...row, ...more, change: nextChange(memories) });
  const place = memories.findIndex(({ id }) => id === supersedes);
  const old = memories[place];
  if (old && old.supersededBy === null && old.forgotten === null)
    memories[place] = { ...old, supersededBy: row.id, change: nextChange(memories) };
  const added = memories.find(({ id }) => id === row.id);
  if (added && added.trust !== "person") replaceAgain(memories, added);
}

function closeFact(memories: MemoryRow[], { id, step, factKey, trust }: Omit<MemoryRow, "change" | Named>): void {
  for (const [place, row] of memories.entries())
    if (factKey !== undefined && row.factKey === factKey && row.trust === trust && row.closed === undefined)
      memories[place] = { ...row, closed: { by: id, step }, change: nextChange(memories) };
}

/** Marks facts as the store does in a fork: in the order of events, a person's rows after those before them. */
function markFacts(memories: readonly MemoryRow[]): MemoryRow[] {
  const place = ({ id }: MemoryRow): readonly number[] => {
    const [, made, ordinal = 0] = /\/(?:\+(\d+)|\d+(?:\.(\d+))?)$/.exec(id) ?? [];
    return made === undefined ? [0, Number(ordinal)] : [1, Number(made)];
  };
  const ordered = memories.toSorted((a, b) => {
    const [[kindA = 0, noA = 0], [kindB = 0, noB = 0]] = [place(a), place(b)];
    return a.seq - b.seq || kindA - kindB || noA - noB;
  });
  return memories.map(({ closed: _closed, ...row }) => {
    if (row.factKey === undefined) return row;
    const next = ordered
      .slice(ordered.findIndex(({ id }) => id === row.id) + 1)
      .find(({ factKey, trust }) => factKey === row.factKey && trust === row.trust);
    return next ? { ...row, closed: { by: next.id, step: next.step } } : row;
  });
}

/** Returns the fork's copies of the rows that belong to the first `head` events. */
export function forkMemories(memories: readonly MemoryRow[], source: string, fork: string, head: number): MemoryRow[] {
  const copied = memories.filter(({ id, seq }) => id.includes("/+") || seq <= head).sort((a, b) => a.change - b.change);
  const ids = new Map(copied.map(({ id }) => [id, fork + id.slice(source.length)]));
  const idOf = (id: string | null): string | null => ids.get(id ?? "") ?? null;
  const rows = copied.map((row, place) => ({
    ...row,
    id: idOf(row.id) ?? "",
    namespace: fork,
    seq: Math.min(row.seq, head),
    change: place + 1,
    supersedes: idOf(row.supersedes),
    supersededBy: idOf(row.supersededBy),
  }));
  return markFacts(rows);
}
