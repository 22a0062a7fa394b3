/** rows.ts -- unified diffs, CSV, agents and files as rows; and which part of a length was seen. Pure. */
import type { Agent, LatestFile } from "./types.ts";
import { LOOKS, lookOf } from "./words.ts";

export interface DiffRow {
  /** `…` stands for lines that the diff leaves out. */
  readonly kind: "+" | "-" | " " | "…";
  readonly old: number | null;
  readonly now: number | null;
  readonly text: string;
}

export function readPatch(patch: string): readonly DiffRow[] {
  const rows: DiffRow[] = [];
  let old = 0;
  let now = 0;
  for (const line of patch.slice(Math.max(0, patch.search(/^@@/m))).split("\n")) {
    const hunk = /^@@ -(\d+)(?:,\d+)? \+(\d+)/.exec(line);
    const kind = line.charAt(0);
    const text = line.slice(1);
    if (hunk) [old, now] = [Number(hunk[1]), Number(hunk[2])];
    if (hunk && Math.max(old, now) > 1) rows.push({ kind: "…", old: null, now: null, text: `line ${now}` });
    if (kind === "\\") rows.push({ kind: "…", old: null, now: null, text: text.trim() });
    if (kind === "+" || kind === "-" || kind === " ")
      rows.push({ kind, old: kind === "+" ? null : old++, now: kind === "-" ? null : now++, text });
  }
  return rows;
}

export function readCsv(text: string): readonly (readonly string[])[] {
  const rows: string[][] = [[]];
  for (const [, quoted, plain = "", end] of text.matchAll(/(?:"((?:[^"]|"")*)"|([^,\n\r]*))(,|\r?\n|$)/g)) {
    rows.at(-1)?.push(quoted?.replaceAll('""', '"') ?? plain);
    if (end === "") break;
    if (end !== ",") rows.push([]);
  }
  return rows.filter((row) => row.length > 1 || row[0] !== "");
}
/** Whether each cell of a column is a number, a percentage or empty. */
export const isNumeric = (rows: readonly (readonly string[])[], column: number): boolean =>
  rows.length > 0 && rows.every((row) => /^-?[\d.,\s]*%?$/.test(row[column] ?? ""));

/** Agents with their helpers below them; an agent whose parent is not among them is at the top. */
export function agentTree(agents: readonly Agent[]): readonly { readonly agent: Agent; readonly depth: number }[] {
  const ids = new Set(agents.map(({ id }) => id));
  const rank = ({ standing }: Agent): number => LOOKS.indexOf(lookOf(standing));
  const sorted = agents.toSorted((a, b) => rank(a) - rank(b) || (a.createdAt < b.createdAt ? -1 : 1));
  const below = (parent: string | null, depth: number): ReturnType<typeof agentTree> =>
    sorted
      .filter((each) => (each.parent !== null && ids.has(each.parent) ? each.parent : null) === parent)
      .flatMap((agent) => [{ agent, depth }, ...below(agent.id, depth + 1)]);
  return below(null, 0);
}

type Folder = readonly [name: string, files: readonly LatestFile[]];
/** Files by folder: those of the top first, pages that were kept from the web last. */
export function fileTree(files: readonly LatestFile[]): readonly Folder[] {
  const rank = (folder: string): number => (folder === "" ? 0 : folder === "pages" ? 2 : 1);
  const folders = Map.groupBy(files, ({ path }) => path.split("/").slice(0, -1).join("/"));
  return [...folders].sort(([a], [b]) => rank(a) - rank(b) || (a < b ? -1 : 1));
}

/** Parts of a length, sorted and apart. */
export type Ranges = readonly (readonly [from: number, to: number])[];

export function addRange(ranges: Ranges, from: number, to: number): Ranges {
  if (to <= from) return ranges;
  const touching = ranges.filter(([start, end]) => end >= from && start <= to);
  const joined = [...touching, [from, to] as const].reduce(([a, b], [c, d]) => [Math.min(a, c), Math.max(b, d)]);
  return [...ranges.filter((each) => !touching.includes(each)), joined].sort(([a], [b]) => a - b);
}
/** Where the first part begins that is in no range: `length` when all of it is. A pixel at an end is no part. */
export function firstGap(ranges: Ranges, length: number): number {
  const end = ranges[0] && ranges[0][0] <= 1 ? ranges[0][1] : 0;
  return end >= length - 1 ? length : end;
}
