/** data.ts -- reads texts and questions with their evidence from JSON lines, and makes near-duplicates. */
import { readFileSync } from "node:fs";
import { join } from "node:path";

/** Traces and chats, and what they are made of. */
export const MEMORY_DATA = join(import.meta.dirname, "../../test/data/memory");

export interface Doc {
  readonly doc_id: string;
  readonly text: string;
  readonly ns: string;
  readonly ts?: string | number;
  /** The id of the original, when this is a near-duplicate. */
  readonly original?: string;
}
export interface Query {
  readonly query: string;
  readonly relevant_ids: readonly string[];
  /** Namespace of the question; by default that of its evidence. */
  readonly ns?: string;
  /** `dev` or `test`: settings are chosen on `dev` alone. */
  readonly half?: string;
  /** Sort of question. */
  readonly kind?: string;
}
/** All documents and questions of one namespace. */
export interface Space {
  readonly docs: readonly Doc[];
  readonly queries: readonly Query[];
}

export function readLines<T>(path: string): T[] {
  const lines = readFileSync(path, "utf8").split("\n");
  return lines.filter((line) => line.trim() !== "").map((line) => JSON.parse(line) as T);
}

/** Reads a file of `MEMORY_DATA`. */
export const readData = <T>(name: string): T[] => readLines<T>(join(MEMORY_DATA, name));

/** Groups by namespace, in the given order; with `isOne` into one space. Questions without evidence are left out. */
export function toSpaces(docs: readonly Doc[], queries: readonly Query[], isOne = false): Map<string, Space> {
  const spaces = new Map<string, { docs: Doc[]; queries: Query[] }>();
  const spaceOf = new Map<string, string>();
  for (const doc of docs) {
    const ns = isOne ? "all" : doc.ns;
    spaceOf.set(doc.doc_id, ns);
    const space = spaces.get(ns) ?? { docs: [], queries: [] };
    spaces.set(ns, space);
    space.docs.push(doc);
  }
  for (const query of queries) {
    const [evidence] = query.relevant_ids;
    const ns = isOne ? "all" : (query.ns ?? spaceOf.get(evidence ?? ""));
    if (evidence !== undefined) spaces.get(ns ?? "")?.queries.push(query);
  }
  return spaces;
}

/** Copies 15 % of the documents six times each to later positions, with other numbers. */
export function withNearDuplicates(docs: readonly Doc[], random: () => number): Doc[] {
  const result = [...docs];
  for (const doc of docs) {
    if (random() >= 0.15) continue;
    const at = result.indexOf(doc);
    for (let copy = 1; copy <= 6; copy++) {
      const place = at + 1 + Math.floor(random() * (result.length - at));
      const text = withOtherNumbers(doc.text, random);
      result.splice(place, 0, { ...doc, doc_id: `${doc.doc_id}~${copy}`, text, original: doc.doc_id });
    }
  }
  return result;
}

function withOtherNumbers(text: string, random: () => number): string {
  const other = () => String(Math.floor(random() * 9_000) + 10);
  return /\d/.test(text) ? text.replace(/\d+/g, other) : `${text} (${other()})`;
}
