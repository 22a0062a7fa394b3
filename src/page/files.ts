/** files.ts -- what an agent made: a tree, the content, its versions, what changed, and why it exists. */
import { lexer, type Token, type Tokens } from "/vendor/marked.js";
import { at, atFile, post } from "./api.ts";
import { isAtWork } from "./home.ts";
import { type Children, html, useEffect, useLoaded, useMemo, useState } from "./html.ts";
import { Act, Ago, Call, fieldText, fileLink, Pairs, Pending, Problem, StepLink, useSwitch } from "./parts.ts";
import { Changed, Code, Csv, Diff, table } from "./texts.ts";
import type { Agent, DiffView, FileContent, FileStory, LatestFile } from "./types.ts";
import { counted, decode, placesOf, size, subjectOf } from "./words.ts";

export function Files({ agent, files, path }: { agent: Agent; files: readonly LatestFile[]; path: string }) {
  const isWide = matchMedia("(min-width: 720px)").matches;
  const first = files.find((file) => /^(report|readme|index)\b/i.test(file.path)) ?? fileTree(files)[0]?.[1][0];
  const shown = path || (isWide && first?.path);
  const file = files.find((each) => each.path === shown);
  const open = file
    ? html`<${File} key=${shown} agent=${agent} file=${file} />`
    : html`<p>There is no ${shown} now.</p>`;
  if (!first) return html`<p class="muted">No files yet. What ${agent.name} writes appears here, and why.</p>`;
  const tree = html`<${Tree} agent=${agent.id} files=${files} shown=${shown} />`;
  return html`<div class="columns">${(isWide || !shown) && tree}${shown && open}</div>`;
}

/** Files by folder: those of the top first, pages that were kept from the web last. */
export function fileTree(files: readonly LatestFile[]) {
  const rank = (folder: string): number => (folder === "" ? 0 : folder === "pages" ? 2 : 1);
  const folders = Map.groupBy(files, ({ path }) => path.split("/").slice(0, -1).join("/"));
  return [...folders].sort(([a], [b]) => rank(a) - rank(b) || (a < b ? -1 : 1));
}

function Tree({ agent, files, shown }: { agent: string; files: readonly LatestFile[]; shown: string }) {
  const line = ({ path, changes }: LatestFile) =>
    html`<li><a class="button quiet flex" data-row href=${fileLink(agent, path)}
      aria-current=${path === shown ? "true" : null}><span class="grow cut">${path.split("/").at(-1)}</span>
      ${changes > 1 && html`<small title=${counted(changes, "version")}>${changes}</small>`}</a></li>`;
  const folders = fileTree(files).map(
    ([folder, inside]) => html`${folder && html`<p class="muted small">${folder}</p>`}<ul>${inside.map(line)}</ul>`,
  );
  return html`<nav class="tree grow" aria-label="Files">${folders}</nav>`;
}

const endingOf = (path: string): string => /\.([a-z0-9]+)$/i.exec(path)?.[1]?.toLowerCase() ?? "";
const isPicture = (path: string): boolean => /^(png|jpe?g|gif|webp)$/.test(endingOf(path));
const isMarkdown = (path: string): boolean => /^(md|markdown)$/.test(endingOf(path));
/** A browser is busy for a second with so much text. */
const MAX_CHARS = 50_000;
const restOf = (text: string) => text.length > MAX_CHARS && html`<p class="muted">The rest is not shown.</p>`;
const hasSource = (path: string): boolean => isMarkdown(path) || endingOf(path) === "csv";

function File({ agent, file }: { agent: Agent; file: LatestFile }) {
  const { path } = file;
  const [chosen, setChosen] = useState<number | null>(null);
  const options = ["preview", ...(hasSource(path) ? ["source"] : []), ...(isPicture(path) ? [] : ["changes"]), "why"];
  const [tab, tabs] = useSwitch("Views of the file", options);
  const [story, problem] = useLoaded<FileStory>(atFile(agent.id, path, "/story"), file.changes);
  // Content is asked for by the step: a step is shown by its last version, a restoration only while it is the newest.
  const versions = (story?.versions ?? []).filter((each, at, { [at + 1]: next }) =>
    next ? !each.isRestored && (next.step !== each.step || next.isRestored) : true,
  );
  const newest = versions.at(-1);
  const now = versions.find(({ version }) => version === chosen) ?? newest ?? file;
  const step = newest && now !== newest ? now.step : null;
  const [did, place, range] = now.isRestored
    ? ["restored by you", "after", `from=${now.step}`]
    : [now.by === "person" ? "changed by you" : "written", "in", `from=${Math.max(0, now.step - 1)}&to=${now.step}`];
  const view: Children =
    tab === "why"
      ? "goals" in now && html`<${Why} agent=${agent.id} version=${now} />`
      : tab === "changes"
        ? html`<${Changes} agent=${agent.id} path=${path} range=${range} />`
        : html`<${Preview} agent=${agent} path=${path} at=${file.at} step=${step} isSource=${tab === "source"} />`;
  const option = (each: FileStory["versions"][number]) => html`<option value=${each.version}
    selected=${each === now}>${each.isRestored ? "restored after " : ""}step ${each.step}</option>`;
  const choose = (event: Event): void => setChosen(Number(fieldText(event)));
  const select = html`<select aria-label="Versions" onChange=${choose}>${versions.map(option).reverse()}</select>`;
  return html`<article class="stack grow"><header><h1>${path}</h1>
      <p class="muted small">${size(now.bytes)} · ${did} <${Ago} at=${now.at} /> ago ${place}${" "}
        <${StepLink} of=${agent.id} step=${now.step} /></p></header>
    <div class="flex">${tabs}${versions.length > 1 && select}</div>
    ${step !== null && html`<${Restore} key=${step} agent=${agent} path=${path} step=${step} />`}
    <${Problem} problem=${problem} />${view}</article>`;
}

function Restore({ agent, path, step }: { agent: Agent; path: string; step: number }) {
  const [isDone, setDone] = useState(false);
  const body = { step, paths: [path] };
  const restore = (): Promise<void> => post(at(agent.id, "/restore"), body).then(() => setDone(true));
  if (isDone) return html`<p class="muted" role="status">${path} is again as it was after step ${step}.</p>`;
  return html`<${Act} words=${`Restore to step ${step}`} isOff=${isAtWork(agent)} act=${restore} />
    ${isAtWork(agent) && html`<p class="muted small">Pause ${agent.name} first: it must not be at work.</p>`}`;
}

interface PreviewProps extends Readonly<{ agent: Agent; path: string; isSource?: boolean }> {
  /** When the file was written. */
  readonly at?: string;
  /** Null for the newest version. */
  readonly step?: number | null;
  /** In the place of a picture. */
  readonly text?: string;
}
function Preview({ agent, path, at, step = null, text = path, isSource }: PreviewProps): Children {
  const [file, problem] = useLoaded<FileContent>(atFile(agent.id, path, step === null ? "" : `?step=${step}`), at);
  const View = !hasSource(path) || isSource ? Code : isMarkdown(path) ? Markdown : Csv;
  const picture = (source: string, words: string): Children => {
    const folder = `file:///${path.split("/").map(encodeURIComponent).join("/")}`;
    const place = decode(new URL(source, folder).pathname.slice(1));
    if (!isPicture(place)) return html`<span class="muted">[${place} cannot be shown]</span>`;
    return html`<${Preview} agent=${agent} path=${place} text=${words} />`;
  };
  // A long text is drawn once, not each second.
  const content = file?.content.slice(0, MAX_CHARS);
  const view = useMemo(() => html`<${View} text=${content} picture=${picture} />`, [file, View]);
  if (!file) return html`<${Pending} problem=${problem} />`;
  if (file.content === "") return html`<p class="muted">The file is empty.</p>`;
  if (file.encoding !== "base64") return [view, restOf(file.content)];
  return isPicture(path)
    ? html`<${Picture} type=${`image/${endingOf(path).replace("jpg", "jpeg")}`} base64=${file.content} text=${text} />`
    : html`<p class="muted">${size(file.bytes)} that are not text. Open it in <code>${agent.workspace}</code></p>`;
}

/** A blob of a picture's type is never a document. */
function Picture({ type, base64, text }: Readonly<Record<"type" | "base64" | "text", string>>) {
  const [source, setSource] = useState<string | null>(null);
  useEffect(() => {
    const url = URL.createObjectURL(new Blob([Uint8Array.fromBase64(base64)], { type }));
    setSource(url);
    return () => URL.revokeObjectURL(url);
  }, [type, base64]);
  return source && html`<img class="picture" src=${source} alt=${text} />`;
}

function Changes({ agent, path, range }: Readonly<Record<"agent" | "path" | "range", string>>) {
  const [diff, problem] = useLoaded<DiffView>(at(agent, `/diff?${range}&path=${encodeURIComponent(path)}`));
  if (!diff) return html`<${Pending} problem=${problem} />`;
  const [file] = diff.files;
  if (!file?.patch)
    return html`<p class="muted">${file ? `Not compared: ${file.note}.` : "It was left as it was."}</p>`;
  return html`<p class="muted"><${Changed} ...${file} /></p>
    <${Diff} patch=${file.patch.slice(0, MAX_CHARS)} />${restOf(file.patch)}`;
}

function Why({ agent, version }: { agent: string; version: FileStory["versions"][number] }) {
  const { by, isRestored, step, goals, thoughts, thought, command, sources, sourcesLeftOut, outside } = version;
  const when = isRestored ? " back after" : ", and the agent found the change in";
  if (by === "person") return html`<p>You changed it${when} step ${step}.</p>`;
  const link = (to: number) => html`<${StepLink} of=${agent} step=${to} />`;
  const read = sources.map(
    (each) => html`<p>${each.what} <span class="muted">${each.kind}</span> ${link(each.step)}</p>`,
  );
  const earlier = sourcesLeftOut > 0 && html`<p class="muted">and ${sourcesLeftOut} earlier</p>`;
  const call = command && html`<${Call} command=${command.name} subject=${subjectOf(command.args)} />`;
  const reasons = {
    For: goals.map((goal) => html`<p>${goal}</p>`),
    "It thought": html`<p>${thoughts?.text || thought}</p><p class="muted">${thoughts?.reasoning}</p>`,
    "So it did": call && html`${call}, ${link(step)}`,
    "It had read": sources.length > 0 ? [read, earlier] : html`<p class="muted">Nothing since the version before.</p>`,
    "May hold words of": outside.length > 0 ? html`<b class="hot">${placesOf(outside)}</b>` : "nobody outside",
  };
  return html`<${Pairs} of=${reasons} />`;
}

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
