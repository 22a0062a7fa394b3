/** texts.ts -- long texts: code, changes, tables, pictures, arguments. Characters that cannot be seen are shown. */
import { atStep } from "./api.ts";
import { useLoaded } from "./hooks.ts";
import { html, useLayoutEffect, useState } from "./html.ts";
import { isNumeric, readCsv, readPatch } from "./rows.ts";
import type { FileContent } from "./types.ts";
import { showHidden, textOf } from "./words.ts";

export const Code = ({ text }: { text: string }) => {
  const lines = text.replace(/\r?\n$/, "").split(/\r?\n/);
  return html`<ol class="code lines">${lines.map((line) => html`<li><code>${showHidden(line) || " "}</code></li>`)}
    </ol>`;
};

const SIGNS = { "+": "added", "-": "removed", "…": "gap", " ": "" } as const;
export const Diff = ({ patch }: { patch: string }) => {
  const rows = readPatch(patch).map(({ kind, old, now, text }) => {
    const sign = html`<span role=${SIGNS[kind] && "img"} aria-label=${SIGNS[kind] || null}>${kind}</span>`;
    return html`<tr class=${SIGNS[kind]}><td class="at">${old}</td><td class="at">${now}</td><td class="at">${sign}</td>
      <td><code>${showHidden(text)}</code></td></tr>`;
  });
  return html`<table class="code diff"><tbody>${rows}</tbody></table>`;
};
export const Changed = ({ added, removed }: { added: number | null; removed: number | null }) =>
  added !== null && html`<span><span class="added">+${added}</span> <span class="removed">−${removed}</span></span>`;

const MAX_ROWS = 500;
export const Csv = ({ text }: { text: string }) => {
  const [head = [], ...rows] = readCsv(text);
  const classes = head.map((_, at) => (isNumeric(rows, at) ? "num" : ""));
  const cells = (tag: string, row: readonly string[]) =>
    classes.map((name, at) => html`<${tag} class=${name}>${showHidden(row[at] ?? "")}</${tag}>`);
  const body = rows.slice(0, MAX_ROWS).map((row, n) => html`<tr><td class="at">${n + 1}</td>${cells("td", row)}</tr>`);
  const more = rows.length - MAX_ROWS;
  return html`<div class="sheet scroll" tabindex="0"><table>
      <thead><tr><th class="at">#</th>${cells("th", head)}</tr></thead><tbody>${body}</tbody></table>
    ${more > 0 && html`<p class="muted">${more} more rows are not shown.</p>`}</div>`;
};

export const endingOf = (path: string): string => /\.([a-z0-9]+)$/i.exec(path)?.[1]?.toLowerCase() ?? "";
export const isPicture = (path: string): boolean => /^(png|jpe?g|gif|webp)$/.test(endingOf(path));

type PictureProps = Readonly<{ agent: string; path: string; step?: number | null; text?: string }>;
/** A picture of the agent's folder, as a blob of a picture's type: never a document. `step`: null for the newest. */
export function Picture({ agent, path, step = null, text = "" }: PictureProps) {
  const [file, problem] = useLoaded<FileContent>(atStep(agent, path, step));
  const [source, setSource] = useState<string | null>(null);
  const isShown = isPicture(path) && file?.encoding === "base64" && file.content !== "";
  useLayoutEffect(() => {
    if (!isShown) return;
    const bytes = Uint8Array.from(atob(file.content), (sign) => sign.charCodeAt(0));
    const url = URL.createObjectURL(new Blob([bytes], { type: `image/${endingOf(path).replace("jpg", "jpeg")}` }));
    setSource(url);
    return () => URL.revokeObjectURL(url);
  }, [file]);
  if (!file && !problem) return null;
  if (!isShown) return html`<span class="muted">[${path} cannot be shown]</span>`;
  return source && html`<img class="picture" src=${source} alt=${text || path} />`;
}

/** All arguments of a call: short ones in a list, long ones whole below. */
export const Args = ({ args }: { args: Readonly<Record<string, unknown>> }) => {
  const all = Object.entries(args).map(([name, value]) => [showHidden(name), textOf(value)] as const);
  const isLong = ([, text]: readonly [string, string]): boolean => text.includes("\n") || text.length > 120;
  const short = ([name, text]: readonly [string, string]) =>
    html`<dt>${name}</dt><dd><code>${showHidden(text)}</code></dd>`;
  const long = ([name, text]: readonly [string, string]) =>
    html`<p class="muted small">${name}</p><${Code} text=${text} />`;
  return html`<dl class="pairs">${all.filter((each) => !isLong(each)).map(short)}</dl>${all.filter(isLong).map(long)}`;
};
