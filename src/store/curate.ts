/**
 * curate.ts -- changes that a person, or the import of files, makes in the memory of a namespace.
 *
 * Runs inside a transaction. Curations are not events: they need no lease, and they affect only what the agent recalls.
 * Each namespace has a hash chain of curations with one link per call. A link records each change, and for an added row the
 * hash of its constant columns. So `pinned` and `forgotten` follow from the chain; a superseding row names the older row.
 */
import type { DatabaseSync } from "node:sqlite";
import { GoaldError } from "#core/errors.ts";
import type { MemoryChange, MemoryChanged, MemoryRow } from "#core/ports/memory-row.ts";
import { canonicalJson } from "#util/canonical-json.ts";
import { chainLink, sha256 } from "./chain.ts";
import { prepare } from "./connection.ts";
import {
  contentOf,
  digestedValues,
  NEXT_CHANGE,
  type NewRow,
  openMemoryByName,
  openMemoryInsert,
  openNamespaces,
  throwNoMemory,
  withSecureDelete,
} from "./memory-rows.ts";
import { isoTime, nameOf, nameOfRow } from "./rows.ts";

/** One change as it is stored in the chain. `id` is the row's name in the namespace. */
export type Curated =
  | { readonly op: "add"; readonly id: string; readonly sha: string }
  /** Nothing changed: the row exists already, or a person forgot or corrected it. */
  | { readonly op: "known"; readonly id: string }
  | { readonly op: "pin" | "unpin"; readonly id: string }
  | { readonly op: "forget"; readonly id: string; readonly by: "person" | "source" }
  /** In a fork: the state of the row when it was copied. */
  | {
      readonly op: "copy";
      readonly id: string;
      readonly sha: string | null;
      readonly pinned: boolean;
      readonly forgotten: string | null;
    };
export interface Curation {
  readonly at: string;
  readonly key: string;
  readonly changes: readonly Curated[];
}

export const curationStart = (namespace: string): string => sha256(`goald memory ${namespace}`);
/** The hash of the constant columns of a row that a person added. */
export const rowSha = (row: NewRow): string => sha256(JSON.stringify(digestedValues(row)));

export type CurateMemories = (
  namespace: string,
  changes: readonly MemoryChange[],
  key: string,
  at: string,
) => readonly MemoryChanged[];

export function openCurations(database: DatabaseSync): CurateMemories {
  const namespaceNo = openNamespaces(database);
  const chain = openCurationChain(database);
  const change = openChanges(database);

  return (namespace, changes, key, at) => {
    const agentNo = namespaceNo(namespace);
    const time = isoTime(at);
    const toChanged = ({ op, id }: Curated): MemoryChanged => ({ id: `${namespace}/${id}`, isNew: op !== "known" });
    const earlier = chain.byKey(agentNo, key);
    if (earlier) return earlier.changes.map(toChanged);
    const curated = changes.map((each) => change(agentNo, namespace, each, time));
    if (curated.length > 0) chain.append(agentNo, namespace, { at: time, key, changes: curated });
    return curated.map(toChanged);
  };
}

export interface CurationChain {
  byKey(agentNo: number, key: string): Curation | undefined;
  append(agentNo: number, namespace: string, curation: Curation): void;
}

export function openCurationChain(database: DatabaseSync): CurationChain {
  const byKey = prepare<{ readonly data: string }>(
    database,
    "SELECT data FROM curation WHERE agent_no = ? AND key = ?",
  );
  const head = prepare<{ readonly no: number; readonly sha: string }>(
    database,
    "SELECT no, sha FROM curated WHERE agent_no = ?",
  );
  const insert = prepare(database, "INSERT INTO curation (agent_no, no, key, data, sha) VALUES (?, ?, ?, ?, ?)");
  const moveHead = prepare(
    database,
    `INSERT INTO curated (agent_no, no, sha) VALUES (?1, ?2, ?3)
     ON CONFLICT (agent_no) DO UPDATE SET no = ?2, sha = ?3`,
  );
  return {
    byKey(agentNo, key) {
      const found = byKey.get(agentNo, key);
      return found && (JSON.parse(found.data) as Curation);
    },
    append(agentNo, namespace, curation) {
      const { no, sha: previous } = head.get(agentNo) ?? { no: 0, sha: curationStart(namespace) };
      const data = canonicalJson(curation);
      const sha = chainLink(previous, data);
      insert.run(agentNo, no + 1, curation.key, data, sha);
      moveHead.run(agentNo, no + 1, sha);
    },
  };
}

interface CuratedRow extends Pick<MemoryRow, "forgotten" | "trust" | "kind" | "supersedes"> {
  readonly no: number;
  readonly name: string;
  readonly pinned: number;
  readonly supersededBy: string | null;
}
type KeyedRow = Pick<CuratedRow, "name" | "forgotten" | "supersededBy"> & { readonly change: number };

function changeQueries(database: DatabaseSync) {
  return {
    row: openMemoryByName<CuratedRow>(
      database,
      "no, name, kind, trust, pinned, forgotten, supersedes, superseded_by AS supersededBy",
    ),
    keyed: prepare<KeyedRow>(
      database,
      `SELECT change, name, forgotten, superseded_by AS supersededBy FROM memory
       WHERE agent_no = ? AND key = ? AND change < ? ORDER BY change DESC LIMIT 1`,
    ),
    numbers: prepare<{ readonly made: number; readonly seq: number }>(
      database,
      `SELECT (SELECT coalesce(max(made), 0) FROM memory WHERE agent_no = ?1 AND made IS NOT NULL) + 1 AS made,
         coalesce((SELECT head FROM agent WHERE no = ?1), 0) AS seq`,
    ),
    pin: prepare(database, `UPDATE memory SET pinned = ?3, change = ${NEXT_CHANGE} WHERE no = ?2`),
    forget: prepare(
      database,
      `UPDATE memory SET text = '', salt = NULL, vector = NULL, embedder = NULL, pinned = 0, forgotten = ?3,
         change = ${NEXT_CHANGE} WHERE no = ?2`,
    ),
    show: prepare(
      database,
      `UPDATE memory SET superseded_by = NULL, change = ${NEXT_CHANGE}
       WHERE no = ?2`,
    ),
    dropNextVectors: prepare(database, "DELETE FROM next_vector WHERE memory_no = ?"),
  };
}

function openChanges(
  database: DatabaseSync,
): (agentNo: number, namespace: string, change: MemoryChange, at: string) => Curated {
  const queries = changeQueries(database);
  const insert = openMemoryInsert(database);

  function add(agentNo: number, namespace: string, memory: MemoryChange & { readonly op: "add" }, at: string): Curated {
    const known = memory.key === undefined ? undefined : findKnown(agentNo, memory.key);
    if (known) return { op: "known", id: known.name };
    const content = contentOf(memory, namespace);
    if (content.supersedes !== null) requireLive(agentNo, content.supersedes, namespace);
    const { kind, importance, trust } = memory;
    const numbers = queries.numbers.get(agentNo) ?? { made: 1, seq: 0 };
    const row: NewRow = { ...numbers, ordinal: null, step: null, namespace, kind, importance, trust, at, ...content };
    insert(agentNo, row);
    return { op: "add", id: nameOfRow(row), sha: rowSha(row) };
  }

  /** Finds the newest row of this key that prevents another one. Nearly always that is the first. */
  function findKnown(agentNo: number, key: string): KeyedRow | undefined {
    let row = queries.keyed.get(agentNo, key, Number.MAX_SAFE_INTEGER);
    while (row && !preventsAdd(agentNo, row)) row = queries.keyed.get(agentNo, key, row.change);
    return row;
  }

  /** True for a live row, and for one that a person forgot or corrected. */
  function preventsAdd(agentNo: number, { forgotten, supersededBy }: KeyedRow): boolean {
    if (forgotten === "person" || (forgotten === null && supersededBy === null)) return true;
    return supersededBy !== null && queries.row(agentNo, supersededBy)?.trust === "person";
  }

  function requireLive(agentNo: number, name: string, namespace: string): void {
    const id = `${namespace}/${name}`;
    const row = queries.row(agentNo, name) ?? throwNoMemory(id);
    if (row.forgotten !== null) throw forgottenError(id);
    if (row.supersededBy !== null) throw supersededError(id, `${namespace}/${row.supersededBy}`);
  }

  function forget(agentNo: number, row: CuratedRow, by: "person" | "source"): Curated {
    const { no, name } = row;
    // What a person forgot stays forgotten by the person.
    if (row.forgotten === by || row.forgotten === "person") return { op: "known", id: name };
    withSecureDelete(database, () => {
      queries.forget.run(agentNo, no, by);
      queries.dropNextVectors.run(no);
      // What only hid a row hides it no longer.
      const hidden = row.kind === "forgetting" ? queries.row(agentNo, row.supersedes ?? "") : undefined;
      if (hidden?.supersededBy === name) queries.show.run(agentNo, hidden.no);
    });
    return { op: "forget", id: name, by };
  }

  return (agentNo, namespace, change, at) => {
    if (change.op === "add") return add(agentNo, namespace, change, at);
    const name = nameOf(namespace, change.id) ?? throwNoMemory(change.id);
    const row = queries.row(agentNo, name) ?? throwNoMemory(change.id);
    if (change.op === "forget") return forget(agentNo, row, change.by);
    if (row.forgotten !== null) throw forgottenError(change.id);
    const pinned = change.op === "pin" ? 1 : 0;
    if (row.pinned === pinned) return { op: "known", id: name };
    if (pinned === 1) requireLive(agentNo, name, namespace);
    withSecureDelete(database, () => queries.pin.run(agentNo, row.no, pinned));
    return { op: change.op, id: name };
  };
}

export const forgottenError = (id: string): GoaldError =>
  new GoaldError("GOALD_NOT_FOUND", `Expected the memory ${id}; it was forgotten.`);

export const supersededError = (id: string, newer: string): GoaldError =>
  new GoaldError("GOALD_CONFLICT", `Expected the newest version of the memory ${id}; ${newer} has replaced it.`, {
    hint: `Change that one: ${newer}`,
  });
