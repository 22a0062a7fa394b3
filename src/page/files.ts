/** files.ts -- what an agent made: a tree, the content, its versions, what changed, and why it exists. */
import { Head } from "./agent.ts";
import { at, atFile, atStep, post } from "./api.ts";
import { useLoaded } from "./hooks.ts";
import { type Children, html, useMemo, useState } from "./html.ts";
import { Act, Ago, Call, fieldText, fileLink, Pairs, Pending, Problem, placeOf, StepLink, useSwitch } from "./parts.ts";
import { pulseOf } from "./store.ts";
import { Changed, Code, Csv, Diff, Markdown } from "./texts.ts";
import type { Agent, Details, DiffView, FileContent, FileList, FileStory, LatestFile } from "./types.ts";
import { counted, decode, size, subjectOf } from "./words.ts";

export function FilesScreen({ agent, rest: path }: { agent: Agent; rest: string | undefined }) {
  const [list, problem] = useLoaded<FileList>(at(agent.id, "/files?versions=false"), pulseOf(agent));
  const [details] = useLoaded<Details>(at(agent.id, "/details"), pulseOf(agent));
  const isWide = matchMedia("(min-width: 720px)").matches;
  const files = list?.files ?? [];
  const first = files.find((file) => /^(report|readme|index)\b/i.test(file.path)) ?? fileTree(files)[0]?.[1][0];
  const shown = path ?? (isWide ? first?.path : undefined);
  const file = files.find((each) => each.path === shown);
  const tree = html`<${Tree} agent=${agent.id} files=${files} shown=${shown} />`;
  const open = file
    ? html`<${File} key=${shown} agent=${agent} file=${file} />`
    : html`<p>There is no ${shown} now.</p>`;
  const browser = html`<div class="columns">${(isWide || !shown) && tree}${shown && open}</div>`;
  const none = html`<p class="muted">No files yet. Everything that ${agent.name} writes appears here, with each version
    and the reason for it.</p>`;
  return html`<div class="page stack"><${Head} agent=${agent} details=${details} tab="files" />
    ${list ? (files.length > 0 ? browser : none) : html`<${Pending} problem=${problem} />`}</div>`;
}

type Folder = readonly [name: string, files: readonly LatestFile[]];
/** Files by folder: those of the top first, pages that were kept from the web last. */
export function fileTree(files: readonly LatestFile[]): readonly Folder[] {
  const rank = (folder: string): number => (folder === "" ? 0 : folder === "pages" ? 2 : 1);
  const folders = Map.groupBy(files, ({ path }) => path.split("/").slice(0, -1).join("/"));
  return [...folders].sort(([a], [b]) => rank(a) - rank(b) || (a < b ? -1 : 1));
}

function Tree({ agent, files, shown }: { agent: string; files: readonly LatestFile[]; shown: string | undefined }) {
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
const hasSource = (path: string): boolean => isMarkdown(path) || endingOf(path) === "csv";

function File({ agent, file }: { agent: Agent; file: LatestFile }) {
  const { path } = file;
  const [chosen, setChosen] = useState<number | null>(null);
  const options = ["preview", ...(hasSource(path) ? ["source"] : []), ...(isPicture(path) ? [] : ["changes"]), "why"];
  const [tab, tabs] = useSwitch("Views of the file", options);
  const [story, problem] = useLoaded<FileStory>(atFile(agent.id, path, "/story"), file.changes);
  // A step is shown by its last version: content is asked for by the step.
  const versions = (story?.versions ?? []).filter(({ step }, at, all) => all[at + 1]?.step !== step);
  const newest = versions.at(-1);
  const now = versions.find(({ version }) => version === chosen) ?? newest ?? file;
  const isOld = newest !== undefined && now !== newest;
  const step = isOld ? now.step : null;
  const views: Readonly<Record<string, Children>> = {
    why: "goals" in now && html`<${Why} agent=${agent.id} version=${now} />`,
    changes: html`<${Changes} agent=${agent.id} path=${path} step=${now.step} />`,
  };
  const preview = html`<${Preview} agent=${agent} path=${path} at=${file.at} step=${step} isSource=${tab === "source"} />`;
  const steps = versions.map(
    (each) => html`<option value=${each.version} selected=${each === now}>step ${each.step}</option>`,
  );
  const choose = (event: Event): void => setChosen(Number(fieldText(event)));
  const select = html`<select aria-label="Versions" onChange=${choose}>${steps.reverse()}</select>`;
  const by = now.by === "person" ? "changed by you" : "written";
  return html`<article class="stack grow"><header><h1>${path}</h1>
      <p class="muted small">${size(now.bytes)} · ${by} <${Ago} at=${now.at} /> ago in${" "}
        <${StepLink} of=${agent.id} step=${now.step} /></p></header>
    <div class="flex wrap">${tabs}${versions.length > 1 && select}</div>
    ${isOld && html`<${Restore} key=${step} agent=${agent} path=${path} step=${step} />`}
    <${Problem} problem=${problem} />${views[tab] ?? preview}</article>`;
}

function Restore({ agent: { id, name, standing }, path, step }: { agent: Agent; path: string; step: number }) {
  const [isDone, setDone] = useState(false);
  const isAtWork = !["paused", "over"].includes(standing.kind);
  const restore = (): Promise<void> => post(at(id, "/restore"), { step, paths: [path] }).then(() => setDone(true));
  if (isDone) return html`<p class="sub" role="status">${path} is again as it was after step ${step}.</p>`;
  return html`<${Act} words=${`Restore to step ${step}`} isOff=${isAtWork} act=${restore} />
    ${isAtWork && html`<p class="muted small">Pause ${name} first: it must not be at work.</p>`}`;
}

/** `at`: when the file was written. `step`: null for the newest version. `text`: in the place of a picture. */
type PreviewProps = Readonly<{ agent: Agent; path: string; at?: string; step?: number | null; text?: string }>;
function Preview({ agent, path, at = "", step = null, text = "", isSource }: PreviewProps & { isSource: boolean }) {
  const [loaded, problem] = useLoaded<FileContent>(atStep(agent.id, path, step), at);
  const view = useMemo(() => loaded && showContent({ agent, path, text }, loaded, isSource), [loaded, isSource]);
  return view ?? html`<${Pending} problem=${problem} />`;
}

function showContent({ agent, path, text }: PreviewProps, file: FileContent, isSource: boolean): Children {
  const { content, encoding, bytes } = file;
  const folder = `file:///${path.split("/").map(encodeURIComponent).join("/")}`;
  const picture = (source: string, words: string): Children => {
    const place = decode(new URL(source, folder).pathname.slice(1));
    if (!isPicture(place)) return html`<span class="muted">[${place} cannot be shown]</span>`;
    return html`<${Preview} agent=${agent} path=${place} text=${words} />`;
  };
  if (content === "") return html`<p class="muted">The file is empty.</p>`;
  // Data of a picture's type are never a document.
  const data = `data:image/${endingOf(path).replace("jpg", "jpeg")};base64,${content}`;
  if (encoding === "base64" && isPicture(path)) return html`<img class="picture" src=${data} alt=${text || path} />`;
  if (encoding === "base64")
    return html`<p class="muted">${size(bytes)} that are not text. Open it in <code>${agent.workspace}</code></p>`;
  if (isMarkdown(path) && !isSource) return html`<${Markdown} text=${content} picture=${picture} />`;
  return html`<${hasSource(path) && !isSource ? Csv : Code} text=${content} />`;
}

function Changes({ agent, path, step }: { agent: string; path: string; step: number }) {
  const range = `/diff?from=${Math.max(0, step - 1)}&to=${step}&path=${encodeURIComponent(path)}`;
  const [diff, problem] = useLoaded<DiffView>(at(agent, range));
  if (!diff) return html`<${Pending} problem=${problem} />`;
  const [file] = diff.files;
  if (!file?.patch)
    return html`<p class="muted">${file ? `Not compared: ${file.note}.` : `Step ${step} left it as it was.`}</p>`;
  return html`<p class="muted">In step ${step}: <${Changed} ...${file} /></p><${Diff} patch=${file.patch} />`;
}

function Why({ agent, version }: { agent: string; version: FileStory["versions"][number] }) {
  const { by, step, goals, thoughts, thought, command, sources, sourcesLeftOut, outside } = version;
  if (by === "person") return html`<p>You changed it, and the agent found the change in step ${step}.</p>`;
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
    "May hold words of":
      outside.length > 0
        ? html`<b class="hot">${outside.map(({ name }) => placeOf(name)).join(", ")}</b>`
        : "nobody outside",
  };
  return html`<${Pairs} of=${reasons} />`;
}
