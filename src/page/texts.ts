/** texts.ts -- long texts: code, changes, tables, arguments. Characters that cannot be seen are shown. */
import { type Children, html } from "./html.ts";
import { Pairs } from "./parts.ts";
import { showHidden, textOf } from "./words.ts";

export const Code = ({ text }: { text: string }) => {
  const lines = text.replace(/\r?\n$/, "").split(/\r?\n/);
  return html`<ol class="code">${lines.map((line) => html`<li><code>${showHidden(line) || " "}</code></li>`)}
    </ol>`;
};

/** Rows of a diff by their first sign; `…` stands for lines that the diff leaves out. */
const SIGNS = { "+": "added", "-": "removed", "…": "gap", " ": "" } as const;
type DiffRow = Readonly<{ kind: keyof typeof SIGNS; old: number | null; now: number | null; text: string }>;

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

export const Diff = ({ patch }: { patch: string }) => {
  const rows = readPatch(patch).map(({ kind, old, now, text }) => {
    const sign = html`<span role=${SIGNS[kind] && "img"} aria-label=${SIGNS[kind] || null}>${kind}</span>`;
    return html`<tr class=${SIGNS[kind]}><td class="num muted wide">${old}</td><td class="num muted">${now}</td>
      <td class="num muted">${sign}</td><td><code>${showHidden(text)}</code></td></tr>`;
  });
  return html`<table class="code diff"><tbody>${rows}</tbody></table>`;
};
export const Changed = ({ added, removed }: { added: number | null; removed: number | null }) =>
  added !== null && html`<span><span class="added">+${added}</span> <span class="removed">−${removed}</span></span>`;

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

type Cells = readonly Children[];
/** `looks`: the class of each column. */
export const table = (looks: readonly string[], head: Cells, rows: readonly Cells[]): Children => {
  const line = (tag: string, row: Cells): Children =>
    html`<tr>${looks.map((look, at) => html`<${tag} class=${look}>${row[at] ?? ""}</${tag}>`)}</tr>`;
  return html`<div class="sheet" tabindex="0"><table><thead>${line("th", head)}</thead>
    <tbody>${rows.map((row) => line("td", row))}</tbody></table></div>`;
};

export const Csv = ({ text }: { text: string }) => {
  const [head = [], ...rows] = readCsv(text);
  const looks = ["num muted", ...head.map((_, at) => (isNumeric(rows, at) ? "num" : ""))];
  const numbered = rows.map((row, n) => [n + 1, ...row.map(showHidden)]);
  return table(looks, ["#", ...head.map(showHidden)], numbered);
};

/** All arguments of a call, each whole: long ones in lines with numbers. */
export const Args = ({ args }: { args: Readonly<Record<string, unknown>> }) => {
  const show = (text: string) =>
    text.includes("\n") || text.length > 120
      ? html`<${Code} text=${text} />`
      : html`<code>${showHidden(text) || " "}</code>`;
  const shown = Object.entries(args).map(([name, value]) => [showHidden(name), show(textOf(value))] as const);
  return html`<${Pairs} of=${shown} />`;
};
