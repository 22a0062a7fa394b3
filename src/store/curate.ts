/**
 * curate.ts -- changes that a person, or the import of files, makes in the memory of a namespace.
 *
 * Runs inside a transaction. Curations are not events: they need no lease, and they affect only what the agent recalls.
 * Each call leaves a row with its key and its results, so that a repeated call changes nothing.
 */
import type { DatabaseSync } from "node:sqlite";
import { conflict, GoaldError } from "#core/errors.ts";
import { compareWords, isAboutResult, joinNumbers, type Statement, statementOf } from "#core/memory.ts";
import type { MemoryChange, MemoryChanged, MemoryRow } from "#core/ports/memory.ts";
import { sha256 } from "./chain.ts";
import {
  contentOf,
  NEXT_CHANGE,
  type NewRow,
  openKnownKeys,
  openMemoryByName,
  openMemoryInsert,
  openNamespaces,
  throwNoMemory,
} from "./memory-rows.ts";
import { isoTime, nameOf, nameOfRow } from "./rows.ts";
import { prepare } from "./sql.ts";

export function openCurations(database: DatabaseSync) {
  const namespaceNo = openNamespaces(database);
  const change = openChanges(database);
  const find = prepare<{ readonly data: string }>(database, "SELECT data FROM curation WHERE agent_no = ? AND key = ?");
  const keep = prepare(
    database,
    `INSERT INTO curation (agent_no, no, key, data)
     VALUES (?1, (SELECT coalesce(max(no), 0) + 1 FROM curation WHERE agent_no = ?1), ?2, ?3)`,
  );

  return (namespace: string, changes: readonly MemoryChange[], key: string, at: string): readonly MemoryChanged[] => {
    const agentNo = namespaceNo(namespace);
    const time = isoTime(at);
    const earlier = find.get(agentNo, key);
    if (earlier) return JSON.parse(earlier.data) as readonly MemoryChanged[];
    const results = changes.map((each) => change(agentNo, namespace, each, time));
    if (results.length > 0) keep.run(agentNo, key, JSON.stringify(results));
    return results;
  };
}

interface CuratedRow extends Pick<MemoryRow, "forgotten" | "trust" | "kind" | "supersedes"> {
  readonly no: number;
  readonly name: string;
  readonly text: string;
  readonly pinned: number;
  readonly supersededBy: string | null;
}

function changeQueries(database: DatabaseSync) {
  return {
    row: openMemoryByName<CuratedRow>(
      database,
      "no, name, kind, text, trust, pinned, forgotten, supersedes, superseded_by AS supersededBy",
    ),
    numbers: prepare<{ readonly made: number; readonly seq: number }>(
      database,
      `SELECT (SELECT coalesce(max(made), 0) FROM memory WHERE agent_no = ?1 AND made IS NOT NULL) + 1 AS made,
         coalesce((SELECT head FROM agent WHERE no = ?1), 0) AS seq`,
    ),
    pin: prepare(database, `UPDATE memory SET pinned = ?3, change = ${NEXT_CHANGE} WHERE no = ?2`),
    forget: prepare(
      database,
      `UPDATE memory SET text = '', salt = NULL, vector = NULL, embedder = NULL, corrected = NULL, pinned = 0,
         forgotten = ?3, change = ${NEXT_CHANGE} WHERE no = ?2`,
    ),
    show: prepare(database, `UPDATE memory SET superseded_by = NULL, change = ${NEXT_CHANGE} WHERE no = ?2`),
  };
}

const NOTHING_SAME: SameRows = { copies: [], alike: [] };

function resultOf(namespace: string, name: string, isNew: boolean, same: SameRows = NOTHING_SAME): MemoryChanged {
  const idOf = (row: string): string => `${namespace}/${row}`;
  const result: { id: string; isNew: boolean; copies?: string[]; alike?: string[] } = { id: idOf(name), isNew };
  if (same.copies.length > 0) result.copies = same.copies.map((copy) => idOf(copy.name));
  if (same.alike.length > 0) result.alike = same.alike.map(idOf);
  return result;
}

type Queries = ReturnType<typeof changeQueries>;

function openChanges(database: DatabaseSync) {
  const queries = changeQueries(database);
  const findSame = openSameRows(database);
  const add = openAdd(database, queries, findSame);

  type Forgetting = MemoryChange & { readonly op: "forget" };
  function forget(agentNo: number, namespace: string, row: CuratedRow, { by, copies }: Forgetting): MemoryChanged {
    const { no, name } = row;
    // What a person forgot stays forgotten by the person.
    if (row.forgotten === by || row.forgotten === "person") return resultOf(namespace, name, false);
    // Searched before the text is erased.
    const same = copies === true && row.forgotten === null ? findSame(agentNo, no) : NOTHING_SAME;
    for (const erased of [row, ...same.copies]) {
      queries.forget.run(agentNo, erased.no, by);
      // A row that only this one hid is shown again.
      const { kind, supersedes } = queries.row(agentNo, erased.name) ?? {};
      const hidden = kind === "forgetting" ? queries.row(agentNo, supersedes ?? "") : undefined;
      if (hidden?.supersededBy === erased.name) queries.show.run(agentNo, hidden.no);
    }
    return resultOf(namespace, name, true, same);
  }

  return (agentNo: number, namespace: string, change: MemoryChange, at: string): MemoryChanged => {
    if (change.op === "add") return add(agentNo, namespace, change, at);
    const name = nameOf(namespace, change.id) ?? throwNoMemory(change.id);
    const row = queries.row(agentNo, name) ?? throwNoMemory(change.id);
    if (change.op === "forget") return forget(agentNo, namespace, row, change);
    if (row.forgotten !== null) throw forgottenError(change.id);
    const pinned = change.op === "pin" ? 1 : 0;
    if (row.pinned === pinned) return resultOf(namespace, name, false);
    if (pinned === 1) requireLive(queries, agentNo, name, namespace);
    queries.pin.run(agentNo, row.no, pinned);
    return resultOf(namespace, name, true);
  };
}

type Adding = MemoryChange & { readonly op: "add" };

function openAdd(database: DatabaseSync, queries: Queries, findSame: FindSameRows) {
  const insert = openMemoryInsert(database);
  const replacements = openReplacements(database);
  const findKnown = openKnownKeys(database);

  return (agentNo: number, namespace: string, memory: Adding, at: string): MemoryChanged => {
    const known = memory.key === undefined ? undefined : findKnown(agentNo, memory.key);
    if (known) return resultOf(namespace, known.name, false);
    const content = contentOf(memory, namespace);
    const { supersedes, text } = content;
    const older = supersedes === null ? undefined : requireLive(queries, agentNo, supersedes, namespace);
    const { kind, importance, trust } = memory;
    const numbers = queries.numbers.get(agentNo) ?? { made: 1, seq: 0 };
    const row: NewRow = { ...numbers, ordinal: null, step: null, namespace, kind, importance, trust, at, ...content };
    const name = nameOfRow(row);
    if (trust === "person") replacements.lift(agentNo, text);
    const corrected = memory.copies === true ? older : undefined;
    const same = corrected ? findSame(agentNo, corrected.no, text) : NOTHING_SAME;
    insert(agentNo, row);
    if (corrected) {
      const hash = correctedHash(corrected.text, text);
      replacements.mark(corrected, hash);
      for (const copy of same.copies) replacements.replace(agentNo, copy, name, hash);
    } else replacements.replaceAgain(agentNo, row);
    if (memory.pinned === true || [older, ...same.copies].some((replaced) => replaced?.pinned === 1))
      queries.pin.run(agentNo, queries.row(agentNo, name)?.no ?? 0, 1);
    return resultOf(namespace, name, true, same);
  };
}

function requireLive({ row: find }: Queries, agentNo: number, name: string, namespace: string): CuratedRow {
  const id = `${namespace}/${name}`;
  const row = find(agentNo, name) ?? throwNoMemory(id);
  if (row.forgotten !== null) throw forgottenError(id);
  if (row.supersededBy !== null) throw supersededError(id, `${namespace}/${row.supersededBy}`);
  return row;
}

const forgottenError = (id: string): GoaldError =>
  new GoaldError("GOALD_NOT_FOUND", `Expected the memory ${id}; it was forgotten.`);

const supersededError = (id: string, newer: string): GoaldError =>
  conflict(`Expected the newest version of the memory ${id}; ${newer} has replaced it.`, `Change that one: ${newer}`);

/** Share of words from which a row is listed as alike: as for near-duplicates among recalls. */
const ALIKE = 0.7;
const MAX_ALIKE = 20;
/** The kind of the pieces of a step's long result, which are forgotten with the step. */
const PIECE = "piece";
const TURN = "turn";

export type SameRow = Pick<CuratedRow, "no" | "name" | "pinned" | "supersededBy">;
interface SameRows {
  readonly copies: readonly SameRow[];
  /** Names of rows that are only alike, at most 20. */
  readonly alike: readonly string[];
}
interface ScannedRow extends SameRow, Pick<NewRow, "seq" | "ordinal" | "kind" | "text"> {
  readonly change: number;
}

const wholeHash = ({ whole }: Statement): string => sha256(`whole\n${whole}`);
const actHash = ({ act }: Statement): string | null => (act === null ? null : sha256(`act\n${act}`));

/** The hashes by which a later row with this text is recognized. */
function correctedHashes(text: string): readonly string[] {
  const statement = statementOf(text);
  const act = actHash(statement);
  return act === null ? [wholeHash(statement)] : [wholeHash(statement), act];
}

/** Returns the hash of what a correction says is wrong in a text. */
function correctedHash(text: string, correction: string): string {
  const statement = statementOf(text);
  return (isAboutResult(correction, text) ? actHash(statement) : null) ?? wholeHash(statement);
}

/**
 * Finds the rows of a namespace that say the same as the row `no`, which a person corrects or forgets. The row `no`
 * itself is left out. Rows that were replaced count for a row that is forgotten, and not for one that is corrected.
 * Scans the namespace.
 */
type FindSameRows = (agentNo: number, no: number, correction?: string) => SameRows;

type ScannedPlace = Pick<ScannedRow, "seq" | "ordinal">;

/** What the scan keeps of a row: not its text. */
interface ComparedRow extends Omit<ScannedRow, "text"> {
  readonly isSame: boolean;
  readonly isAlike: boolean;
}
const PAGE = 500;

function openSameRows(database: DatabaseSync): FindSameRows {
  const columns = "no, change, name, seq, ordinal, kind, text, pinned, superseded_by AS supersededBy";
  const target = prepare<ScannedRow>(database, `SELECT ${columns} FROM memory WHERE no = ?`);
  const page = prepare<ScannedRow>(
    database,
    `SELECT ${columns} FROM memory WHERE agent_no = ? AND change > ? AND forgotten IS NULL ORDER BY change LIMIT ${PAGE}`,
  );

  function* others(agentNo: number, wanted: ScannedRow, correction: string | undefined): Generator<ComparedRow> {
    const compare = compareTo(wanted, correction);
    for (let rows = page.all(agentNo, 0); rows.length > 0; rows = page.all(agentNo, rows.at(-1)?.change ?? 0))
      for (const { text, ...row } of rows)
        if (row.no !== wanted.no && (correction === undefined || row.supersededBy === null))
          yield { ...row, ...compare(text) };
  }

  return (agentNo, no, correction) => {
    const wanted = target.get(no);
    if (!wanted) return NOTHING_SAME;
    const rows = [...others(agentNo, wanted, correction)];
    const same = rows.filter(({ isSame }) => isSame);
    const events = new Set([wanted, ...same].filter(isOfEvent).map(({ seq }) => seq));
    const isOfSameEvent = (row: ComparedRow): boolean => isOfEvent(row) && events.has(row.seq);
    // Pieces of a corrected step say more than what is wrong.
    const takesPieces = correction === undefined && wanted.kind !== PIECE;
    const copies = rows.filter((row) => row.isSame || (takesPieces && row.kind === PIECE && isOfSameEvent(row)));
    const turns = turnsOf([wanted, ...copies], rows);
    const isAlike = (row: ComparedRow): boolean => row.isAlike || isOfSameEvent(row) || turns.has(row.no);
    const alike = rows.filter((row) => row.supersededBy === null && isAlike(row) && !copies.includes(row));
    return { copies, alike: alike.slice(-MAX_ALIKE).map(({ name }) => name) };
  };
}

/** Returns the memories of the turns in which these rows were left: they have the input of the commands. */
function turnsOf(wanted: readonly ScannedPlace[], rows: readonly ComparedRow[]): ReadonlySet<number> {
  const turns = rows.filter((row) => row.kind === TURN && isOfEvent(row)).sort((a, b) => a.seq - b.seq);
  const places = wanted.filter(isOfEvent).map(({ seq }) => turns.find((turn) => turn.seq >= seq));
  return new Set(places.flatMap((turn) => (turn ? [turn.no] : [])));
}

const isOfEvent = ({ ordinal }: Pick<ScannedRow, "ordinal">): boolean => ordinal !== null;

function compareTo({ text }: ScannedRow, correction: string | undefined) {
  const statement = statementOf(text);
  const hash = correction === undefined ? wholeHash(statement) : correctedHash(text, correction);
  const act = actHash(statement);
  const likeness = compareWords(text);
  const numbers = joinNumbers(text);
  return (other: string): Pick<ComparedRow, "isSame" | "isAlike"> => {
    // Spares most rows the dearer comparison.
    if (joinNumbers(other) !== numbers) return { isSame: false, isAlike: false };
    const hashes = correctedHashes(other);
    if (hashes.includes(hash)) return { isSame: true, isAlike: false };
    return { isSame: false, isAlike: (act !== null && hashes.includes(act)) || likeness(other) >= ALIKE };
  };
}

/**
 * Marks rows as replaced by a person's correction. A corrected row keeps a hash of what was wrong in it, that of
 * `correctedHash`: the whole text, or the command and the result. A row that is committed later with this hash is
 * replaced by the correction at once. The hash reveals nothing, because the row still has its text; it is removed when
 * the text is forgotten. So forgotten texts are not recognized when an agent reads them again.
 */
export function openReplacements(database: DatabaseSync) {
  const hasAny = prepare(
    database,
    "SELECT 1 FROM memory INDEXED BY memory_corrected WHERE agent_no = ? AND corrected IS NOT NULL LIMIT 1",
  );
  const find = prepare<{ readonly by: string }>(
    database,
    `SELECT superseded_by AS by FROM memory INDEXED BY memory_corrected
     WHERE agent_no = ? AND corrected = ? AND superseded_by IS NOT NULL
     ORDER BY change DESC LIMIT 1`,
  );
  const replace = prepare(
    database,
    `UPDATE memory SET superseded_by = ?3, corrected = ?4, change = ${NEXT_CHANGE} WHERE no = ?2`,
  );
  const mark = prepare(database, "UPDATE memory SET corrected = ?2 WHERE no = ?1");
  const lift = prepare(database, "UPDATE memory SET corrected = NULL WHERE agent_no = ? AND corrected = ?");
  const byName = openMemoryByName<Pick<SameRow, "no">>(database, "no");
  return {
    replace: (agentNo: number, { no }: Pick<SameRow, "no">, by: string, hash: string) =>
      void replace.run(agentNo, no, by, hash),
    /** Marks the row that a correction names, which `supersedes` links already. */
    mark: ({ no }: Pick<SameRow, "no">, hash: string) => void mark.run(no, hash),
    /** Replaces a new row, by others than a person, that says the same as one that a person corrected. */
    replaceAgain(agentNo: number, row: NewRow): void {
      if (row.trust === "person" || !hasAny.get(agentNo)) return;
      for (const hash of correctedHashes(row.text)) {
        const found = find.get(agentNo, hash);
        const inserted = found && byName(agentNo, nameOfRow(row));
        if (!found || !inserted) continue;
        replace.run(agentNo, inserted.no, found.by, hash);
        return;
      }
    },
    /** A person says it again: later rows with this text stay. */
    lift(agentNo: number, text: string): void {
      if (!hasAny.get(agentNo)) return;
      for (const hash of correctedHashes(text)) lift.run(agentNo, hash);
    },
  };
}
