/**
 * verify-memories.ts -- checks that the memory of a namespace follows from its commits and curations.
 *
 * Digests of commits cover the rows of events (verify-agent.ts). This check recomputes the chain of curations and compares
 * each row with it: added rows, pinned and forgotten ones. A superseding row must name the row that it supersedes, and each
 * text must have its hash, and the marks of closed facts must follow from the rows. Rows that can change meanwhile are read in one transaction.
 */
import type { DatabaseSync } from "node:sqlite";
import { setImmediate } from "node:timers/promises";
import { chainLink, sha256 } from "./chain.ts";
import { prepare } from "./connection.ts";
import { type Curated, type Curation, curationStart } from "./curation-chain.ts";
import { findWrongMarks } from "./facts.ts";
import { DIGESTED, openMemoryByName, textShaOf } from "./memory-rows.ts";
import { correctedHashes } from "./same-rows.ts";

const PAGE = 500;

/** The state of a row that follows from the chain. */
interface ExpectedMemory {
  /** The hash of a row that a person added. */
  sha: string | null;
  pinned: boolean;
  forgotten: string | null;
  /** The correction that replaced the row, because it said the same as the corrected one. */
  replacedBy: string | null;
}

/** `agentNo` is the number of the namespace in the tables. */
export async function checkMemories(
  database: DatabaseSync,
  agentNo: number,
  namespace: string,
  problems: string[],
): Promise<void> {
  database.exec("BEGIN");
  try {
    const expected = checkChain(database, agentNo, namespace, problems);
    checkSuperseded(database, agentNo, namespace, expected, problems);
    checkRows(database, agentNo, namespace, expected, problems);
    for (const name of findWrongMarks(database, agentNo))
      problems.push(
        `Expected the fact ${namespace}/${name} closed by the next one about the same, found another state.`,
      );
  } finally {
    database.exec("COMMIT");
  }
  await checkTexts(database, agentNo, namespace, problems);
}

function checkChain(
  database: DatabaseSync,
  agentNo: number,
  namespace: string,
  problems: string[],
): Map<string, ExpectedMemory> {
  const read = prepare<{ readonly no: number; readonly key: string; readonly data: string; readonly sha: string }>(
    database,
    `SELECT no, key, data, sha FROM curation WHERE agent_no = ? AND no > ? ORDER BY no LIMIT ${PAGE}`,
  );
  const expected = new Map<string, ExpectedMemory>();
  let [last, link] = [0, curationStart(namespace)];
  for (let page = read.all(agentNo, 0); page.length > 0; page = read.all(agentNo, last))
    for (const { no, key, data, sha } of page) {
      const curation = parseCuration(data);
      if (no !== last + 1 || chainLink(link, data) !== sha || curation?.key !== key)
        problems.push(`Expected change ${last + 1} of the memory of ${namespace} as it was written, found it changed.`);
      for (const change of curation?.changes ?? []) applyCurated(expected, change);
      [last, link] = [no, sha];
    }
  const head = prepare<{ readonly no: number; readonly sha: string }>(
    database,
    "SELECT no, sha FROM curated WHERE agent_no = ?",
  ).get(agentNo);
  if ((head?.no ?? 0) !== last || (head && head.sha !== link))
    problems.push(`Expected ${head?.no ?? 0} changes of the memory of ${namespace}, found ${last} or others.`);
  return expected;
}

function parseCuration(data: string): Curation | undefined {
  try {
    return JSON.parse(data) as Curation;
  } catch {
    return undefined;
  }
}

function applyCurated(expected: Map<string, ExpectedMemory>, change: Curated): void {
  if (change.op === "known") return;
  const row = expected.get(change.id) ?? { sha: null, pinned: false, forgotten: null, replacedBy: null };
  expected.set(change.id, row);
  if (change.op === "add") row.sha = change.sha;
  else if (change.op === "copy") Object.assign(row, change);
  else if (change.op === "replace") row.replacedBy = change.by;
  else if (change.op === "forget") Object.assign(row, { forgotten: change.by, pinned: false });
  else row.pinned = change.op === "pin";
}

type CheckedMemory = Readonly<Record<string, string | number | null>> & {
  readonly name: string;
  readonly change: number;
  readonly made: number | null;
  readonly pinned: number;
  readonly forgotten: string | null;
};

function checkRows(
  database: DatabaseSync,
  agentNo: number,
  namespace: string,
  expected: Map<string, ExpectedMemory>,
  problems: string[],
): void {
  const read = prepare<CheckedMemory>(
    database,
    `SELECT name, change, made, pinned, forgotten, ${DIGESTED} FROM memory
     WHERE agent_no = ? AND change > ? ORDER BY change LIMIT ${PAGE}`,
  );
  for (let page = read.all(agentNo, 0); page.length > 0; page = read.all(agentNo, page.at(-1)?.change ?? 0))
    for (const { name, change: _change, made, pinned, forgotten, ...digested } of page) {
      const row = expected.get(name);
      expected.delete(name);
      const sha = made === null ? null : sha256(JSON.stringify(Object.values(digested)));
      if ((row?.sha ?? null) !== sha)
        problems.push(`Expected the memory ${namespace}/${name} as it was written, found it changed.`);
      else if ((row?.pinned ?? false) !== (pinned === 1) || (row?.forgotten ?? null) !== forgotten)
        problems.push(
          `Expected the memory ${namespace}/${name} pinned or forgotten as its curations say, found another state.`,
        );
    }
  for (const name of expected.keys()) problems.push(`Expected a memory ${namespace}/${name}, found none.`);
}

interface SupersedingRow {
  readonly name: string;
  readonly supersedes: string | null;
  readonly supersededBy: string | null;
  readonly forgotten: string | null;
  readonly kind: string;
  readonly seq: number;
  readonly source: string | null;
}

/** A later row of the same file or page may supersede many pieces, and names none of them. */
const isReplacedBy = (older: SupersedingRow, newer: SupersedingRow | undefined): boolean =>
  older.kind === "piece" && older.source !== null && newer?.source === older.source && newer.seq > older.seq;

/** A row that only hid another one, until a person forgot it. */
const isUndone = ({ kind, forgotten }: SupersedingRow): boolean => kind === "forgetting" && forgotten !== null;

/**
 * A superseding and a superseded row must name each other, unless the older one was forgotten or is hidden no longer, or the chain
 * says that it was replaced as a copy of the superseded one.
 */
function checkSuperseded(
  database: DatabaseSync,
  agentNo: number,
  namespace: string,
  expected: ReadonlyMap<string, ExpectedMemory>,
  problems: string[],
): void {
  const columns = "name, supersedes, superseded_by AS supersededBy, forgotten, kind, seq, source";
  const byName = openMemoryByName<SupersedingRow>(database, columns);
  const rows = prepare<SupersedingRow>(
    database,
    `SELECT ${columns} FROM memory
     WHERE agent_no = ? AND (supersedes IS NOT NULL OR superseded_by IS NOT NULL)`,
  );
  const wrong = new Set<string>();
  for (const row of rows.all(agentNo)) {
    const { name, supersedes, supersededBy } = row;
    const newer = supersededBy === null ? undefined : byName(agentNo, supersededBy);
    const isNamed = (newer?.supersedes === name && !isUndone(newer)) || isReplacedBy(row, newer);
    if (supersededBy !== null && !isNamed && expected.get(name)?.replacedBy !== supersededBy) wrong.add(name);
    const older = supersedes === null ? undefined : byName(agentNo, supersedes);
    const isLive = older?.supersededBy === null && older.forgotten === null;
    if (older && isLive && !isUndone(row)) wrong.add(older.name);
  }
  for (const [name, { replacedBy }] of expected)
    if (replacedBy !== null && byName(agentNo, name)?.supersededBy !== replacedBy) wrong.add(name);
  for (const name of wrong)
    problems.push(`Expected the memory ${namespace}/${name} superseded by the row that names it, found another state.`);
}

interface MemoryText {
  readonly change: number;
  readonly name: string;
  readonly text: string;
  readonly salt: string | null;
  readonly textSha: string;
  readonly forgotten: string | null;
  readonly corrected: string | null;
  readonly supersededBy: string | null;
}

async function checkTexts(
  database: DatabaseSync,
  agentNo: number,
  namespace: string,
  problems: string[],
): Promise<void> {
  const read = prepare<MemoryText>(
    database,
    `SELECT change, name, text, salt, text_sha AS textSha, forgotten, corrected, superseded_by AS supersededBy FROM memory
     WHERE agent_no = ? AND change > ? ORDER BY change LIMIT ${PAGE}`,
  );
  for (let page = read.all(agentNo, 0); page.length > 0; page = read.all(agentNo, page.at(-1)?.change ?? 0)) {
    for (const { name, text, salt, textSha, forgotten, corrected, supersededBy } of page) {
      if (forgotten === null ? salt === null || textShaOf(salt, text) !== textSha : text !== "" || salt !== null)
        problems.push(`Expected the text of the memory ${namespace}/${name} as it was written, found it changed.`);
      if (corrected !== null && (supersededBy === null || !correctedHashes(text).includes(corrected)))
        problems.push(`Expected the hash of the corrected memory ${namespace}/${name}, found another.`);
    }
    await setImmediate();
  }
}
