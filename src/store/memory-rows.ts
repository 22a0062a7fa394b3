/**
 * memory-rows.ts -- writes rows of memory and finds them by name.
 *
 * A row that was committed with an event has the event's number and an ordinal, and the commit's digest covers it, with
 * a salted hash of the text instead of the text: so a forgotten text can be overwritten and the rest of the row can
 * still be checked. A row that a person added has the number `made`.
 */
import { randomBytes } from "node:crypto";
import type { DatabaseSync } from "node:sqlite";
import { GoaldError } from "#core/errors.ts";
import { isReplacedPiece, SHARED_MEMORY } from "#core/memory.ts";
import type { MemoryRow, NewMemory } from "#core/ports/memory.ts";
import type { Commit, StagedWrite } from "#core/ports/store.ts";
import { outsideOf } from "#core/provenance.ts";
import { wellFormed } from "#core/text.ts";
import { sha256 } from "./chain.ts";
import { throwNoAgent } from "./failure.ts";
import { type MemoryRecord, nameOf, nameOfRow, sourcesText } from "./rows.ts";
import { prepare } from "./sql.ts";
import { SHARED_NO } from "./tables.ts";

interface LivePiece extends Pick<NewRow, "seq" | "key" | "text"> {
  readonly no: number;
}

/**
 * Stores the pieces of long texts: those that are known are not stored again, and a newer text of a file or page
 * supersedes the older pieces. Runs inside the transaction of a commit. Its cost depends on the pieces of the commit
 * and on the live pieces of its sources.
 */
export function openPieces(database: DatabaseSync) {
  const findKnown = openKnownKeys(database);
  const ofSource = prepare<LivePiece>(
    database,
    `SELECT no, seq, key, text FROM memory
     WHERE agent_no = ? AND source = ? AND kind = 'piece' AND superseded_by IS NULL AND forgotten IS NULL`,
  );
  const mark = prepare(database, `UPDATE memory SET superseded_by = ?3, change = ${NEXT_CHANGE} WHERE no = ?2`);

  return {
    /** Returns the rows without pieces of a key that is known. */
    withoutKnown<Row extends NewRow>(agentNo: number, rows: readonly Row[]): readonly Row[] {
      const keys = new Set<string>();
      return rows.filter(({ kind, key }) => {
        if (kind !== "piece" || key === null) return true;
        if (keys.has(key) || findKnown(agentNo, key)) return false;
        keys.add(key);
        return true;
      });
    },
    /** Marks the stored pieces that these memories replace. */
    supersede(agentNo: number, memories: readonly NewMemory[]): void {
      for (const { seq, replaces } of memories) {
        if (!replaces) continue;
        const keys = new Set(memories.filter((memory) => memory.seq === seq).map(({ key }) => key ?? null));
        const replaced = ofSource
          .all(agentNo, replaces.source)
          .filter((piece) => piece.seq < seq && !keys.has(piece.key) && isReplacedPiece(piece.text, replaces.lines));
        if (replaced.length === 0) continue;
        const name = nameOfRow({ seq, ordinal: 0, made: null });
        for (const { no } of replaced) mark.run(agentNo, no, name);
      }
    },
  };
}

interface KeyedRow extends Pick<MemoryRow, "forgotten" | "supersededBy"> {
  readonly change: number;
  readonly name: string;
}

/** Finds the row of a key that prevents another row of this key. */
export function openKnownKeys(
  database: DatabaseSync,
): (agentNo: number, key: string) => Pick<KeyedRow, "name"> | undefined {
  const keyed = prepare<KeyedRow>(
    database,
    `SELECT change, name, forgotten, superseded_by AS supersededBy FROM memory
     WHERE agent_no = ? AND key = ? AND change < ? ORDER BY change DESC LIMIT 1`,
  );
  const trusted = openMemoryByName<Pick<MemoryRow, "trust">>(database, "trust");

  /** True for a live row, and for one that a person forgot or corrected. */
  function preventsAdd(agentNo: number, { forgotten, supersededBy }: KeyedRow): boolean {
    if (forgotten === "person" || (forgotten === null && supersededBy === null)) return true;
    return supersededBy !== null && trusted(agentNo, supersededBy)?.trust === "person";
  }

  // Nearly always the newest row is the first that prevents another.
  return (agentNo, key) => {
    let row = keyed.get(agentNo, key, Number.MAX_SAFE_INTEGER);
    while (row && !preventsAdd(agentNo, row)) row = keyed.get(agentNo, key, row.change);
    return row;
  };
}

export type RowValue = string | number | null;
/** The values of one row. The first is the number of its event. */
export type RowValues = readonly [seq: number, ...rest: RowValue[]];

/** The event that a row was committed with. */
export interface EventPlace {
  readonly seq: number;
  readonly at: string;
  readonly step: number;
}

export interface NewRow
  extends Pick<
      MemoryRow,
      "seq" | "step" | "namespace" | "text" | "importance" | "at" | "supersedes" | "key" | "source"
    >,
    Pick<MemoryRecord, "ordinal" | "made" | "textSha" | "outside" | "factKey"> {
  readonly kind: string;
  readonly salt: string;
  readonly trust: string;
}

/** The hashed values, in the order of the columns of DIGESTED. */
export const digestedValues = (row: NewRow): RowValues => [
  row.seq,
  row.ordinal,
  row.step,
  row.namespace,
  row.kind,
  row.textSha,
  row.importance,
  row.trust,
  row.at,
  row.supersedes,
  row.key,
  row.source,
  row.outside,
  row.factKey,
];
export const DIGESTED =
  "seq, ordinal, step, namespace, kind, text_sha, importance, trust, at, supersedes, key, source, outside, fact_key" as const;

const SALT_BYTES = 12;
/** Random bytes for many salts: one call of randomBytes costs as much as the rest of a row. */
let drawn = Buffer.alloc(0);

export function newSalt(): string {
  if (drawn.length < SALT_BYTES) drawn = randomBytes(128 * SALT_BYTES);
  const salt = drawn.toString("base64", 0, SALT_BYTES);
  drawn = drawn.subarray(SALT_BYTES);
  return salt;
}
export const textShaOf = (salt: string, text: string): string => sha256(salt + text);

/** Returns the rows of a commit in the order of its events. The first memory of an event has ordinal 0; staged ones come last, from 1. */
export function memoriesOf({ memories, staged, events }: Commit, agent: string, result: EventPlace): readonly NewRow[] {
  const toRow = (memory: NewMemory, ordinal: number): NewRow & { readonly ordinal: number } => {
    const { at } = events.find(({ seq }) => seq === memory.seq) ?? throwStrayMemory(memory.seq);
    if (memory.namespace !== agent) throw strayNamespace(memory.namespace, agent);
    return { ...memory, ...contentOf(memory, agent), ordinal, made: null, at };
  };
  const counts = new Map<number, number>();
  const number = (seq: number, least: number): number => {
    const ordinal = Math.max(least, counts.get(seq) ?? 0);
    counts.set(seq, ordinal + 1);
    return ordinal;
  };
  const noted = staged.filter((write) => write.kind === "memory").map((write) => stagedMemory(write, agent, result));
  return [
    ...memories.map((memory) => toRow(memory, number(memory.seq, 0))),
    ...noted.map((memory) => toRow(memory, number(memory.seq, 1))),
  ].sort((a, b) => a.seq - b.seq || a.ordinal - b.ordinal);
}

type OptionalContent = "supersedes" | "key" | "source" | "outside" | "factKey";

/** Returns the content of a memory as the table stores it. */
export function contentOf(
  { text, supersedes, key, source, outside, factKey }: Pick<NewMemory, "text" | OptionalContent>,
  namespace: string,
): Pick<NewRow, "text" | "salt" | "textSha" | OptionalContent> {
  const salt = newSalt();
  const said = wellFormed(text);
  return {
    text: said,
    salt,
    textSha: textShaOf(salt, said),
    supersedes: supersedes === undefined ? null : (nameOf(namespace, supersedes) ?? throwNoMemory(supersedes)),
    key: key ?? null,
    source: source === undefined ? null : wellFormed(source),
    outside: sourcesText(outside),
    factKey: factKey ?? null,
  };
}

/** The number of the next change in the namespace of the agent `?1`, in SQL. */
export const NEXT_CHANGE = "(SELECT coalesce(max(change), 0) + 1 FROM memory WHERE agent_no = ?1)";

/** The function inserts a row with the next change of its namespace, and marks the rows that it closes and supersedes. */
export function openMemoryInsert(database: DatabaseSync): (agentNo: number, row: NewRow) => void {
  const insert = prepare(
    database,
    `INSERT INTO memory (agent_no, change, made, text, salt, ${DIGESTED})
     VALUES (?1, ${NEXT_CHANGE}, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18)`,
  );
  const supersede = prepare(
    database,
    `UPDATE memory SET superseded_by = ?3, change = ${NEXT_CHANGE}
     WHERE no = ?2 AND superseded_by IS NULL AND forgotten IS NULL`,
  );
  const byName = openMemoryByName<{ readonly no: number }>(database, "no");
  const closeFact = prepare(
    database,
    `UPDATE memory SET closed_by = ?4, closed_step = ?5, change = ${NEXT_CHANGE}
     WHERE agent_no = ?1 AND fact_key = ?2 AND trust = ?3 AND closed_by IS NULL`,
  );
  return (agentNo, row) => {
    const { factKey, trust, step } = row;
    if (factKey !== null) closeFact.run(agentNo, factKey, trust, nameOfRow(row), step);
    insert.run(agentNo, row.made, row.text, row.salt, ...digestedValues(row));
    const older = row.supersedes === null ? undefined : byName(agentNo, row.supersedes);
    if (older) supersede.run(agentNo, older.no, nameOfRow(row));
  };
}

/** Finds a row by its name within the namespace. `columns` of the table memory. */
export function openMemoryByName<Row>(database: DatabaseSync, columns: string) {
  const ofEvent = prepare<Row>(
    database,
    `SELECT ${columns} FROM memory WHERE agent_no = ? AND seq = ? AND ordinal = ?`,
  );
  const ofPerson = prepare<Row>(database, `SELECT ${columns} FROM memory WHERE agent_no = ? AND made = ?`);
  return (agentNo: number, name: string): Row | undefined => {
    if (name.startsWith("+")) return ofPerson.get(agentNo, Number(name.slice(1)));
    const [seq = 0, ordinal = 0] = name.split(".").map(Number);
    return ofEvent.get(agentNo, seq, ordinal);
  };
}

/** Returns the number of a namespace in the tables. Throws GOALD_NOT_FOUND. */
export function openNamespaces(database: DatabaseSync): (namespace: string) => number {
  const find = prepare<{ readonly no: number }>(database, "SELECT no FROM agent WHERE id = ?");
  return (namespace) => (namespace === SHARED_MEMORY ? SHARED_NO : (find.get(namespace) ?? throwNoAgent(namespace)).no);
}

function stagedMemory(
  { text, importance, memoryKind, supersedes, outside = [], factKey }: Extract<StagedWrite, { kind: "memory" }>,
  agent: string,
  { seq, step }: EventPlace,
): NewMemory {
  const row: NewMemory = {
    seq,
    step,
    namespace: agent,
    kind: memoryKind,
    text,
    importance,
    trust: "agent",
    ...outsideOf(outside),
    ...(factKey === undefined ? {} : { factKey }),
  };
  return supersedes === undefined ? row : { ...row, supersedes };
}

function throwStrayMemory(seq: number): never {
  throw new GoaldError("GOALD_INTERNAL", `Expected a memory of an event of its own commit, got one of event ${seq}.`);
}

const strayNamespace = (namespace: string, agent: string): GoaldError =>
  new GoaldError("GOALD_INTERNAL", `Expected a memory of ${agent} with its commit, got one of ${namespace}.`);

export function throwNoMemory(id: string): never {
  throw new GoaldError("GOALD_NOT_FOUND", `Expected a memory ${JSON.stringify(id)}, found none.`, {
    hint: "List all memories: goald memory <agent> list",
  });
}

/**
 * The facts of the agent `?1` with the row that closes each, null for one that holds: of the rows with one key and
 * trust each is closed by the next. Rows made from events come in the order of their events; one that a person added
 * comes after the events before it.
 */
const CLOSINGS = `SELECT no, lead(name) OVER fact AS closed_by, lead(step) OVER fact AS closed_step
  FROM memory WHERE agent_no = ?1 AND fact_key IS NOT NULL
  WINDOW fact AS (PARTITION BY fact_key, trust ORDER BY seq, ordinal IS NULL, coalesce(ordinal, made))`;

/**
 * Marks all closed facts of an agent whose rows were copied. The marks follow from the rows, so a fork can set them
 * anew.
 */
export function openFactMarks(database: DatabaseSync): (agentNo: number) => void {
  const mark = prepare(
    database,
    `UPDATE memory SET (closed_by, closed_step) = (closing.closed_by, closing.closed_step)
     FROM (${CLOSINGS}) AS closing WHERE memory.no = closing.no`,
  );
  return (agentNo) => void mark.run(agentNo);
}
