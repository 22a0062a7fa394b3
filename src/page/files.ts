/** files.ts -- what an agent made: a tree, the content, its versions, what changed, and why it exists. */
import { Head } from "./agent.ts";
import { at, atFile, atStep, post } from "./api.ts";
import { useAction, useLoaded } from "./hooks.ts";
import { type Children, html, useMemo, useState } from "./html.ts";
import { Markdown } from "./markdown.ts";
import { Ago, Call, fieldText, fileLink, Pairs, Pending, Problem, placeOf, StepLink, useSwitch } from "./parts.ts";
import { fileTree } from "./rows.ts";
import { pulseOf } from "./store.ts";
import { Changed, Code, Csv, Diff, endingOf, isPicture, Picture } from "./texts.ts";
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

interface FileProps {
  readonly agent: Agent;
  readonly file: LatestFile;
}

function File({ agent, file }: FileProps) {
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
  const preview = isPicture(path)
    ? html`<${Picture} key=${file.at} agent=${agent.id} path=${path} step=${step} />`
    : html`<${Preview} agent=${agent} file=${file} step=${step} isSource=${tab === "source"} />`;
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
const isMarkdown = (path: string): boolean => /^(md|markdown)$/.test(endingOf(path));
const hasSource = (path: string): boolean => isMarkdown(path) || endingOf(path) === "csv";

function Restore({ agent: { id, name, standing }, path, step }: { agent: Agent; path: string; step: number }) {
  const { run, problem, isOff } = useAction();
  const [isDone, setDone] = useState(false);
  const isAtWork = !["paused", "over"].includes(standing.kind);
  const restore = async (): Promise<void> =>
    setDone(await run(() => post(at(id, "/restore"), { step, paths: [path] })));
  if (isDone) return html`<p class="sub" role="status">${path} is again as it was after step ${step}.</p>`;
  const hint = html`<span class="muted small">Pause ${name} first: it must not be at work.</span>`;
  return html`<p class="flex wrap">
    <button disabled=${isOff || isAtWork} onClick=${restore}>Restore to step ${step}</button>${isAtWork && hint}
    <${Problem} problem=${problem} /></p>`;
}

function Preview({ agent, file, step, isSource }: FileProps & { step: number | null; isSource: boolean }) {
  const { path } = file;
  const [loaded, problem] = useLoaded<FileContent>(atStep(agent.id, path, step), file.at);
  const view = useMemo(() => loaded && showContent(agent, path, loaded, isSource), [loaded, isSource]);
  return view ?? html`<${Pending} problem=${problem} />`;
}

function showContent(agent: Agent, path: string, { content, encoding, bytes }: FileContent, isSource: boolean) {
  const folder = `file:///${path.split("/").map(encodeURIComponent).join("/")}`;
  const picture = (source: string, text: string): Children => {
    const place = decode(new URL(source, folder).pathname.slice(1));
    return html`<${Picture} agent=${agent.id} path=${place} text=${text} />`;
  };
  if (encoding === "base64")
    return html`<p class="muted">${size(bytes)} that are not text. Open it in <code>${agent.workspace}</code></p>`;
  if (content === "") return html`<p class="muted">The file is empty.</p>`;
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
