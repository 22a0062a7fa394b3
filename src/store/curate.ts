/**
 * curate.ts -- changes that a person, or the import of files, makes in the memory of a namespace.
 *
 * Runs inside a transaction. Curations are not events: they need no lease, and they affect only what the agent recalls. Each call
 * leaves a row with its key and its results, so that a repeated call changes nothing.
 */
import type { DatabaseSync } from "node:sqlite";
import { GoaldError } from "#core/errors.ts";
import type { MemoryChange, MemoryChanged, MemoryRow } from "#core/ports/memory.ts";
import { prepare } from "./connection.ts";
import { openKnownKeys } from "./known-keys.ts";
import {
  contentOf,
  NEXT_CHANGE,
  type NewRow,
  openMemoryByName,
  openMemoryInsert,
  openNamespaces,
  throwNoMemory,
} from "./memory-rows.ts";
import { isoTime, nameOf, nameOfRow } from "./rows.ts";
import { correctedHash, openReplacements, openSameRows, type SameRowFinder, type SameRows } from "./same-rows.ts";

export type CurateMemories = (
  namespace: string,
  changes: readonly MemoryChange[],
  key: string,
  at: string,
) => readonly MemoryChanged[];

export function openCurations(database: DatabaseSync): CurateMemories {
  const namespaceNo = openNamespaces(database);
  const change = openChanges(database);
  const find = prepare<{ readonly data: string }>(database, "SELECT data FROM curation WHERE agent_no = ? AND key = ?");
  const keep = prepare(
    database,
    `INSERT INTO curation (agent_no, no, key, data)
     VALUES (?1, (SELECT coalesce(max(no), 0) + 1 FROM curation WHERE agent_no = ?1), ?2, ?3)`,
  );

  return (namespace, changes, key, at) => {
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

function openChanges(
  database: DatabaseSync,
): (agentNo: number, namespace: string, change: MemoryChange, at: string) => MemoryChanged {
  const queries = changeQueries(database);
  const sameRows = openSameRows(database);
  const add = openAdd(database, queries, sameRows);

  /** Shows the row again that only this one hid. */
  function showHidden(agentNo: number, name: string): void {
    const row = queries.row(agentNo, name);
    const hidden = row?.kind === "forgetting" ? queries.row(agentNo, row.supersedes ?? "") : undefined;
    if (hidden?.supersededBy === name) queries.show.run(agentNo, hidden.no);
  }

  type Forgetting = MemoryChange & { readonly op: "forget" };
  function forget(agentNo: number, namespace: string, row: CuratedRow, { by, copies }: Forgetting): MemoryChanged {
    const { no, name } = row;
    // What a person forgot stays forgotten by the person.
    if (row.forgotten === by || row.forgotten === "person") return resultOf(namespace, name, false);
    // Searched before the text is erased.
    const same = copies === true && row.forgotten === null ? sameRows.find(agentNo, no) : NOTHING_SAME;
    for (const erased of [row, ...same.copies]) {
      queries.forget.run(agentNo, erased.no, by);
      showHidden(agentNo, erased.name);
    }
    return resultOf(namespace, name, true, same);
  }

  return (agentNo, namespace, change, at) => {
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
type Add = (agentNo: number, namespace: string, memory: Adding, at: string) => MemoryChanged;

function openAdd(database: DatabaseSync, queries: Queries, sameRows: SameRowFinder): Add {
  const insert = openMemoryInsert(database);
  const replacements = openReplacements(database);
  const findKnown = openKnownKeys(database);

  return (agentNo, namespace, memory, at) => {
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
    if (!older || memory.copies !== true) {
      insert(agentNo, row);
      replacements.replaceAgain(agentNo, row);
      return resultOf(namespace, name, true);
    }
    const same = sameRows.find(agentNo, older.no, text);
    const hash = correctedHash(older.text, text);
    insert(agentNo, row);
    replacements.mark(older, hash);
    for (const copy of same.copies) replacements.replace(agentNo, copy, name, hash);
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

export const forgottenError = (id: string): GoaldError =>
  new GoaldError("GOALD_NOT_FOUND", `Expected the memory ${id}; it was forgotten.`);

export const supersededError = (id: string, newer: string): GoaldError =>
  new GoaldError("GOALD_CONFLICT", `Expected the newest version of the memory ${id}; ${newer} has replaced it.`, {
    hint: `Change that one: ${newer}`,
  });
