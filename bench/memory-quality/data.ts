/** data.ts -- texts to find and questions with their evidence, from JSON lines of any origin; and near-duplicates among them. */
import { readFileSync } from "node:fs";

export interface Doc {
  readonly doc_id: string;
  readonly text: string;
  readonly ns: string;
  readonly ts?: string | number;
  /** Of a near-duplicate: what it is a copy of. */
  readonly original?: string;
}
export interface Query {
  readonly query: string;
  readonly relevant_ids: readonly string[];
  /** Where it is asked; without it, where its evidence lies. */
  readonly ns?: string;
  /** `dev` or `test`, where settings are chosen on one half. */
  readonly half?: string;
  /** What sort of question it is. */
  readonly kind?: string;
}
/** Everything that is asked about one namespace. */
export interface Space {
  readonly docs: readonly Doc[];
  readonly queries: readonly Query[];
}

export function readLines<T>(path: string): T[] {
  const lines = readFileSync(path, "utf8").split("\n");
  return lines.filter((line) => line.trim() !== "").map((line) => JSON.parse(line) as T);
}

/** By namespace, documents in the order given; with `isOne` all is one space. Questions without evidence are left out. */
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

/** 15 % of the documents come again six times, further on, with other numbers. */
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
