/** texts.ts -- long texts: code, changes, tables, arguments, Markdown. Characters that cannot be seen are shown. */
import { lexer, type Token, type Tokens } from "/vendor/marked.js";
import { type Children, html } from "./html.ts";
import { Pairs } from "./parts.ts";
import { showHidden, textOf } from "./words.ts";

export const Code = ({ text }: { text: string }) => {
  const lines = text.replace(/\r?\n$/, "").split(/\r?\n/);
  return html`<ol class="code">${lines.map((line) => html`<li><code>${showHidden(line) || " "}</code></li>`)}
    </ol>`;
};

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

const SIGNS = { "+": "added", "-": "removed", "…": "gap", " ": "" } as const;
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
const table = (looks: readonly string[], head: Cells, rows: readonly Cells[]): Children => {
  const line = (tag: string, row: Cells): Children =>
    html`<tr>${looks.map((look, at) => html`<${tag} class=${look}>${row[at] ?? ""}</${tag}>`)}</tr>`;
  return html`<div class="sheet" tabindex="0"><table><thead>${line("th", head)}</thead>
    <tbody>${rows.map((row) => line("td", row))}</tbody></table></div>`;
};

const MAX_ROWS = 500;
export const Csv = ({ text }: { text: string }) => {
  const [head = [], ...rows] = readCsv(text);
  const looks = ["num muted", ...head.map((_, at) => (isNumeric(rows, at) ? "num" : ""))];
  const numbered = rows.slice(0, MAX_ROWS).map((row, n) => [n + 1, ...row.map(showHidden)]);
  const more = rows.length - MAX_ROWS;
  return html`${table(looks, ["#", ...head.map(showHidden)], numbered)}
    ${more > 0 && html`<p class="muted">${more} more rows are not shown.</p>`}`;
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

/** Makes an element for a picture of the agent's folder. */
type ShowPicture = (path: string, text: string) => Children;

/**
 * Markdown as elements: marked reads it into tokens, and each token becomes an element or a text. No HTML is ever made,
 * so there is nothing to clean. HTML in the text is shown as text.
 */
export const Markdown = ({ text, picture }: { text: string; picture: ShowPicture }) =>
  html`<div class="prose">${elements(lexer(text), picture)}</div>`;

const elements = (tokens: readonly Token[], picture: ShowPicture): readonly Children[] =>
  tokens.map((token) => element(token, picture));

/** Tags of tokens that hold nothing but other tokens or a text. */
const TAGS = new Map(Object.entries({ paragraph: "p", list_item: "li" }));
for (const tag of ["blockquote", "strong", "em", "del", "hr", "br"]) TAGS.set(tag, tag);

function element(token: Token, picture: ShowPicture): Children {
  const { type, raw, text = raw, tokens, items, href, depth, ordered, start, checked } = token as Tokens.Generic;
  const inside = tokens || items ? elements(tokens ?? items, picture) : decodeEntities(text);
  const tag = type === "heading" ? `h${Math.min(6, depth + 1)}` : TAGS.get(type);
  if (tag === "hr" || tag === "br") return html`<${tag} />`;
  if (tag) return html`<${tag}>${inside}</${tag}>`;
  if (type === "text" || type === "escape") return inside;
  if (type === "code") return html`<pre tabindex="0">${text}</pre>`;
  if (type === "codespan") return html`<code>${text}</code>`;
  if (type === "list") return ordered ? html`<ol start=${start || 1}>${inside}</ol>` : html`<ul>${inside}</ul>`;
  if (type === "checkbox") return checked ? "☑ " : "☐ ";
  if (type === "table") return markdownTable(token as Tokens.Table, picture);
  if (type === "link") return link(href, inside);
  if (type === "image") return isElsewhere(href) ? `[picture elsewhere: ${href}]` : picture(href, text);
  return type === "space" || type === "def" ? null : raw;
}

function markdownTable({ header, rows }: Tokens.Table, picture: ShowPicture): Children {
  const cells = (row: readonly Tokens.TableCell[]) => row.map(({ tokens }) => elements(tokens, picture));
  const looks = header.map(({ align }) => (align === "right" ? "num" : ""));
  return table(looks, cells(header), rows.map(cells));
}

const isElsewhere = (address: string): boolean => /^[a-z][a-z0-9+.-]*:|^\/\//i.test(address);

/** Only web addresses can be followed, and they do not learn where they were followed from. */
function link(href: string, words: Children): Children {
  if (!/^https?:\/\//i.test(href)) return html`<span title=${href}>${words}</span>`;
  return html`<a href=${href} title=${href} rel="noreferrer noopener" target="_blank">${words}</a>`;
}

const ENTITIES = new Map(Object.entries({ amp: "&", lt: "<", gt: ">", quot: '"', "#39": "'" }));
const decodeEntities = (text: string): string =>
  text.replace(/&([a-z#0-9]+);/g, (all, name) => ENTITIES.get(name) ?? all);
