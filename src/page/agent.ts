/** agent.ts -- one agent: what it does now, its steps, and what a person can do with it. */
import { at, follow, post } from "./api.ts";
import { Files } from "./files.ts";
import { isAtWork, isEnded, Needs, Now, Resume } from "./home.ts";
import { html, useEffect, useLoaded, useMemo, useState } from "./html.ts";
import { Act, AgentMark, Ago, Call, fileLink, Mark, Origin, Pairs, Pending, Who, Words } from "./parts.ts";
import { Side } from "./side.ts";
import { applyChanges, host, isAway, needing, pulseOf } from "./store.ts";
import { Args, Code } from "./texts.ts";
import type { Agent, Delta, Details, LogEvent, StepPage, WholeStep } from "./types.ts";
import { cents, clockOf, compact, counted, decode, describeCall, lookOf, span, stateLabel, textOf } from "./words.ts";

/** `rest`: the number of a step, or the path of a file; empty for none. */
export function AgentScreen({ agent, part, rest }: Readonly<{ agent: Agent; part?: string; rest: string }>) {
  const { id, standing } = agent;
  const [details, problem] = useLoaded<Details>(at(id, "/details"), pulseOf(agent));
  const look = lookOf(standing);
  const isFiles = part === "files";
  const pause = () => post(at(id, "/pause"), { reason: "Paused on the page." });
  // The card of an agent that is stuck has its own way to resume it.
  const first =
    look === "paused" || look === "over"
      ? html`<${Resume} agent=${agent} />`
      : isAtWork(agent) && html`<${Act} words="Pause" title="It finishes its step first" act=${pause} />`;
  const stop = html`<button popovertarget="stop" disabled=${isAway()}>Stop…</button>
    <div popover id="stop" class="panel stack"><p>Stop it, with a report?</p>
      <${Act} words="Stop" look="bad" act=${() => post(at(id, "/stop"), { graceMs: 30_000 })} /></div>`;
  const files = details
    ? html`<${Files} agent=${agent} files=${details.files} path=${rest} />`
    : html`<${Pending} problem=${problem} />`;
  return html`<div class="page stack"><header class="agent-head"><div class="flex"><h1><${Who} ...${agent} /></h1>
      <span class=${`flex ${look}`}><${AgentMark} agent=${agent} />${host.lostSince === null ? "" : "last seen: "}
        ${stateLabel(standing)}</span>
      <span class="flex end">${first}${!isEnded(agent) && standing.kind !== "damaged" && stop}</span></div>
    <p class="muted">${details?.role}</p><nav class="flex" aria-label="Parts of this agent">
      <a class="button quiet" href=${`#/a/${id}`} aria-current=${isFiles ? null : "page"}>Work</a>
      <a class="button quiet" href=${`#/a/${id}/files`} aria-current=${isFiles ? "page" : null}>Files${" "}
        <span class="muted">${details?.files.length}</span></a></nav></header>
    ${isFiles ? files : html`<${Work} agent=${agent} details=${details} opened=${Number(rest) || null} />`}</div>`;
}

function Work({ agent, details, opened }: { agent: Agent; details: Details | null; opened: number | null }) {
  const tail = useTail(agent);
  const isNarrow = matchMedia("(max-width: 900px)").matches;
  const need = needing().find((each) => each.agent === agent);
  const look = lookOf(agent.standing);
  // Pieces of a reply come twenty times a second: they draw none of the rows anew.
  const drawTimeline = () => html`<${Timeline} key=${opened} agent=${agent} opened=${opened} />`;
  const timeline = useMemo(drawTimeline, [agent, opened, isAway()]);
  const side = details && html`<${Side} agent=${agent} details=${details} isNarrow=${isNarrow} />`;
  const label = look === "done" ? `Give ${agent.name} more to do` : `Say something to ${agent.name}`;
  const hint = look === "done" ? "It begins its next turn with these words." : "It reads this in its next step.";
  const say = html`<${Words} agent=${agent.id} label=${label} button="Say" hint=${hint} />`;
  const report = html`<section><h2>What it reported</h2><p class="kept">${agent.closing}</p></section>`;
  return html`<div class="columns"><div class="stack grow">
      ${need && html`<ul class="cards"><${Needs} ...${need} /></ul>`}
      ${look === "running" && html`<${NowPanel} agent=${agent} tail=${tail} />`}${look === "done" && report}
      ${look === "waits" && agent.reason && html`<p class="panel">${agent.reason}</p>`}
      ${need?.item?.kind !== "question" && say}${isNarrow && side}${timeline}</div>
    ${!isNarrow && (side ?? html`<aside></aside>`)}</div>`;
}

/** Follows the agent's live reply while the page can be seen. */
function useTail({ id, head }: Agent): Tail {
  const [tail, setTail] = useState<Tail>({ live: null, head });
  const isOff = isAway();
  useEffect(() => {
    if (isOff) return undefined;
    const stop = new AbortController();
    let now: Tail = { live: null, head };
    const start = async (): Promise<void> => {
      const path = (): string => at(id, `/events?live=true&after=${now.head}`);
      for await (const { event, data } of follow(path, stop.signal)) {
        if (event === "delta") now = foldDelta(now, data as Delta);
        if (event === "message") now = foldEvent(now, data as LogEvent);
        setTail(now);
      }
    };
    // A refused stream leaves what was seen; the stream of the host says what has become of the agent.
    start().catch(() => undefined);
    return () => stop.abort();
  }, [id, isOff]);
  return tail;
}

/** Shows the present moment: the thought as it arrives, or the command that runs with its thought. */
function NowPanel({ agent, tail: { live } }: { agent: Agent; tail: Tail }) {
  const isThinking = live !== null || agent.now.kind !== "running";
  const { thought, next, ...more } = readReply(live?.text ?? "");
  const doing = isThinking ? "Thinking" : html`<${Now} agent=${agent} />`;
  const words =
    (isThinking ? thought : agent.now.thought) || html`<span class="muted">Waiting for the first words…</span>`;
  return html`<section class="panel" aria-label="Now"><p class="flex"><${Mark} look="running" />${doing}
      <small class="end">step ${agent.step} · <${Ago} at=${agent.changedAt} /></small></p>
    <p class="thought">${words}${live && html`<i class="mark running">▍</i>`}</p>
    ${live && html`<${Pairs} of=${{ ...more, next: next && html`<code>${next}</code>` }} />`}</section>`;
}

const SHOWN_STEPS = 60;

function Timeline({ agent, opened }: { agent: Agent; opened: number | null }) {
  /** The step before those that are shown; null for the newest ones. */
  const [after, setAfter] = useState(opened !== null && opened <= agent.step - SHOWN_STEPS ? opened - 1 : null);
  const path = at(agent.id, `/steps?limit=${SHOWN_STEPS}${after === null ? "" : `&after=${after}`}`);
  const [list, problem] = useLoaded<StepPage>(path, pulseOf(agent));
  if (!list) return html`<${Pending} problem=${problem} />`;
  const { steps, notes, last } = list;
  const [first] = steps;
  const look = lookOf(agent.standing);
  // The panel above shows a step that has no command yet.
  const shown = steps.filter(({ step, command }) => step !== last || look !== "running" || command !== null);
  const stepRow = (row: StepRow) => html`<${Step} key=${row.step} agent=${agent.id} row=${row}
    look=${isAtWork(agent) && (row.command || row.step === last) ? look : "over"} isNamed=${opened === row.step} />`;
  const lines = [
    ...shown.map((row) => [row.startedAt, stepRow(row)] as const),
    ...notes.map((note) => [note.at, html`<${NoteRow} key=${`note ${note.seq}`} of=${note} />`] as const),
  ].sort(([a], [b]) => (a < b ? 1 : -1));
  const button = (words: string, to: number | null) =>
    html`<button class="quiet" onClick=${() => setAfter(to)}>${words}</button>`;
  return html`<section><h2>Timeline</h2>${lines.length === 0 && html`<p class="muted">It has taken no step yet.</p>`}
    ${after !== null && button("Newest steps", null)}
    <ol style=${{ "--digits": `${last}`.length }}>${lines.map(([, line]) => line)}</ol>
    ${first && first.step > 1 && button("Earlier steps", Math.max(0, first.step - SHOWN_STEPS - 1))}</section>`;
}
const NUMBER = { minWidth: "28px", width: "calc(1ch * var(--digits))" };
/** An event beside the steps: words of a person, a pause, a turn. */
export function NoteRow({ of }: { of: LogEvent }) {
  const [look, text] = noteOf(of);
  return html`<li class="step-row row muted"><small style=${NUMBER}></small><${Mark} look=${look} />
    <span class="grow">${text}</span>
    <small class="num">${clockOf(of.at)}</small><small class="num wide"></small><small class="num wide"></small></li>`;
}
function noteOf(event: LogEvent): readonly ["says" | "paused" | "running" | "done", string] {
  if (event.type === "message-received") return ["says", `${event.from}: ${textOf(event.text)}`];
  if (event.type === "agent-paused") return ["paused", event.reason];
  if (event.type === "turn-finished") return ["done", "Reported its goals as reached"];
  return ["running", event.type === "turn-started" ? `Turn ${event.turn}` : "Resumed"];
}

type StepRow = StepPage["steps"][number];

const RESULTS = { ok: "done", failed: "failed", denied: "failed", cancelled: "over", unknown: "stuck" } as const;

interface StepProps {
  readonly agent: string;
  readonly row: StepRow;
  /** The mark while there is no result. */
  readonly look: ReturnType<typeof lookOf>;
  /** The address of the page names it: it is open at first. */
  readonly isNamed: boolean;
}
function Step({ agent, row, look, isNamed }: StepProps) {
  const [isOpen, setOpen] = useState(isNamed);
  const { step, command, subject, thought, status, files, startedAt, endedAt, costUsd } = row;
  const named = command && describeCall(command, subject)[1];
  const made = files
    .filter((file) => file !== named && !file.startsWith("pages/"))
    .map((file) => file.split("/").at(-1));
  const more = made.length > 2 && ` +${made.length - 2}`;
  const toggle = (event: ToggleEvent): void => setOpen(event.newState === "open");
  const what = command ? html`<${Call} command=${command} subject=${subject} />` : "No command";
  return html`<li class="step-row" id=${`step-${step}`}>
    <details open=${isOpen} onToggle=${toggle}><summary class="row" data-row>
      <small class="num" style=${NUMBER}>${step}</small>
      <${Mark} look=${status ? RESULTS[status] : look} label=${status ?? (look === "over" ? "no result" : "under way")} />
      <span class="grow"><span class=${status === "failed" ? "bad cut" : "cut"}>${what}</span>
        <small class="cut">${thought}</small><${Badges} row=${row} /></span>
      ${made.length > 0 && html`<code class="wide cut">${made.slice(0, 2).join(" ")}${more}</code>`}
      <small class="wide num" title=${new Date(startedAt).toLocaleString()}>${clockOf(startedAt)}</small>
      <small class="num">${status && span(Date.parse(endedAt) - Date.parse(startedAt))}</small>
      <small class="wide num">${costUsd ? cents(costUsd) : ""}</small></summary>
    ${isOpen && html`<${Opened} agent=${agent} row=${row} isNamed=${isNamed} />`}</details></li>`;
}

/** Shows what was unlike other steps. */
function Badges({ row: { interruptions, attempts, approval, status } }: { row: StepRow }) {
  const crash = interruptions > 0 && `crash, ${status ? `then ${status}` : "no result yet"}`;
  const asked = attempts > 1 && `model asked ${attempts} times`;
  const marks = [crash, asked, approval && `${approval} by you`].filter(Boolean);
  const look = crash || approval === "denied" ? "bad" : "";
  return marks.length > 0 && html`<small class=${look}>${marks.join(" · ")}</small>`;
}

function Opened({ agent, row: { step, endedAt, status, tokens }, isNamed }: Omit<StepProps, "look">) {
  const [whole, problem] = useLoaded<WholeStep>(at(agent, `/steps/${step}`), endedAt, status);
  const key = useMemo(() => crypto.randomUUID(), []);
  // Without its content the page may be too short to scroll to it.
  useEffect(() => {
    const row = isNamed && whole ? document.getElementById(`step-${step}`) : null;
    row?.scrollIntoView();
    row?.querySelector("summary")?.focus({ preventScroll: true });
  }, [whole !== null]);
  if (!whole) return html`<${Pending} problem=${problem} />`;
  const { startedAt, reply, thoughts, thought, command, result, files, nested, prompt, recalls } = whole;
  const { reasoning, plan, criticism } = thoughts ?? {};
  const model = reply && ` · model ${span(reply.durationMs)}, ${compact(tokens)} tokens`;
  const said = !command && reply && html`<${Code} text=${textOf(reply.text)} />`;
  const ran = result && ` · command ${span(result.durationMs)}`;
  const inside = nested.calls > 0 && ` · ${counted(nested.calls, "call")} inside`;
  const paths = [...new Set([...files.map(({ path }) => path), ...(result?.artifacts ?? [])])];
  const messages = prompt.messages.map(({ role, content, calls }) => {
    const text = content || JSON.stringify(calls ?? "", null, 1);
    return [role, html`<${Code} text=${text} />`];
  });
  const memories = recalls.map((memory) => [html`<${Origin} of=${agent} memory=${memory} />`, memory.text]);
  const fork = async (): Promise<void> => {
    const made = (await (await post(at(agent, "/fork"), { step, key })).json()) as Agent;
    host.agents = applyChanges(host.agents, { agents: [made], removed: [] });
    location.hash = `#/a/${made.id}`;
  };
  return html`<div class="opened stack"><p class="muted small">began ${clockOf(startedAt)}${model}${ran}${inside}</p>
    <${Pairs} of=${{ thought: thoughts?.text || thought, reasoning, plan, criticism, reply: said }} />
    ${remarksOf(whole).map((remark) => html`<p>${remark}</p>`)}
    ${command && html`<h3>${command.name}</h3><${Args} args=${command.args} />`}
    ${result && html`<h3>Result</h3><${Code} text=${textOf(result.text)} />`}
    <p class="flex">${paths.map((path) => html`<a href=${fileLink(agent, path)}>${path}</a>`)}</p>
    <details><summary>Prompt, ${prompt.exact ? "exactly as it was sent" : "rebuilt"}</summary>
      <p class="muted small">${prompt.note}</p><${Pairs} of=${messages} /></details>
    <details><summary>${counted(recalls.length, "recall")}</summary><${Pairs} of=${memories} /></details>
    ${result && html`<${Act} words="Fork from here" title="A paused agent, as it was after this step" act=${fork} />`}</div>`;
}

/** Returns a sentence for each thing that went wrong on the way. */
function remarksOf({ attempts, problems, interruptions, result, starts, approval }: WholeStep): readonly string[] {
  const then = result?.reconciled ? "found done" : starts.length > 1 ? "run again" : "not run again";
  const outcome = result && ` The outcome was checked before anything was repeated, and it was ${then}.`;
  const crash = interruptions > 0 ? [`A crash interrupted it.${outcome ?? ""}`] : [];
  const failures = attempts.flatMap(({ failure }) => failure?.message ?? []);
  return [...failures, ...problems, ...crash, ...(approval.reason ? [`Denied: ${approval.reason}`] : [])];
}

/** `live`: null while no reply arrives. */
export type Tail = Readonly<{ head: number; live: Omit<Delta, "from"> | null }>;
export function foldEvent({ head, live }: Tail, { seq, type, frame }: LogEvent): Tail {
  const isEnd = seq > head && frame === 0 && /^model-(asked|failed|replied)$/.test(type);
  return { head: Math.max(head, seq), live: isEnd ? null : live };
}

/** A piece that does not follow what is known is left out: the next request begins anew. */
export function foldDelta(tail: Tail, { seq, from, text }: Delta): Tail {
  const before = tail.live?.seq === seq ? tail.live.text : "";
  return from > before.length ? tail : { ...tail, live: { seq, text: before.slice(0, from) + text } };
}

const parseText = (raw: string): string => decode(raw, () => JSON.parse(`"${raw}"`));
/** Thoughts and command of a reply that may end anywhere; empty for what is missing. Other text is a thought. */
export function readReply(text: string) {
  const isJson = /^\s*(?:```json\s*)?\{/.test(text);
  const member = (name: string): string =>
    parseText(new RegExp(`"${name}"\\s*:\\s*"((?:[^"\\\\]|\\\\.)*)`).exec(isJson ? text : "")?.[1] ?? "");
  const [reasoning, plan, criticism] = [member("reasoning"), member("plan"), member("criticism")];
  const next = /"command"/.test(text) ? member("name") : "";
  return { thought: isJson ? member("text") : text, reasoning, plan, criticism, next };
}
