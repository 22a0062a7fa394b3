/** agent.ts -- one agent: what it does now, its timeline, and what a person can do with it. */
import { at, follow, post } from "./api.ts";
import { EMPTY_TAIL, foldMessage, type Note, readReply, type Tail } from "./fold.ts";
import { isEnded, Needs, Now, Resume, sendTo } from "./home.ts";
import { useLoaded } from "./hooks.ts";
import { html, useEffect, useMemo, useState } from "./html.ts";
import { Act, AgentMark, Ago, Mark, Pairs, Pending, Words } from "./parts.ts";
import { Side } from "./side.ts";
import { Step, type StepRow } from "./step.ts";
import { host, isAway, needing, pulseOf } from "./store.ts";
import type { Agent, Details, StepPage } from "./types.ts";
import { clockOf, lookOf, stateLabel } from "./words.ts";

export function AgentScreen({ agent, rest }: { agent: Agent; rest: string | undefined }) {
  const opened = Number(rest) || null;
  const tail = useTail(agent);
  const [details] = useLoaded<Details>(at(agent.id, "/details"), pulseOf(agent));
  const isNarrow = matchMedia("(max-width: 900px)").matches;
  const need = needing().find((each) => each.agent === agent);
  const look = lookOf(agent.standing);
  // Pieces of a reply come twenty times a second: they draw none of the rows anew.
  const drawTimeline = () => html`<${Timeline} key=${opened} agent=${agent} notes=${tail.notes} opened=${opened} />`;
  const timeline = useMemo(drawTimeline, [agent, tail.notes, opened, isAway(), host.isBusy]);
  const side = details && html`<${Side} agent=${agent} details=${details} isNarrow=${isNarrow} />`;
  const label = isEnded(agent) ? `Give ${agent.name} more to do` : `Say something to ${agent.name}`;
  const hint = isEnded(agent) ? "It begins its next turn with these words." : "It reads this in its next step.";
  const say = html`<${Words} label=${label} button="Say" hint=${hint} onSend=${sendTo(agent.id)} />`;
  const report = html`<section><h2>What it reported</h2><p class="kept">${agent.closing}</p></section>`;
  return html`<div class="page stack"><${Head} agent=${agent} details=${details} tab="work" /><div class="columns">
    <div class="stack grow">${need && html`<ul class="cards"><${Needs} agent=${agent} /></ul>`}
      ${look === "running" && html`<${NowPanel} agent=${agent} tail=${tail} />`}${look === "done" && report}
      ${need?.item?.kind !== "question" && say}${isNarrow && side}${timeline}</div>
    ${!isNarrow && (side ?? html`<aside></aside>`)}</div></div>`;
}

/** Events before the newest ones hold no notes for the steps that are shown first. */
const TAIL_EVENTS = 300;

/** Follows the agent's log and its live reply while the page can be seen. */
function useTail({ id, head }: Agent): Tail {
  const [tail, setTail] = useState(EMPTY_TAIL);
  const isOff = isAway();
  useEffect(() => {
    if (isOff) return undefined;
    const stop = new AbortController();
    let now: Tail = { ...tail, live: null, head: tail.head || Math.max(0, head - TAIL_EVENTS) };
    const start = async (): Promise<void> => {
      const path = (): string => at(id, `/events?live=true&after=${now.head}`);
      for await (const message of follow(path, stop.signal)) {
        now = foldMessage(now, message);
        setTail(now);
      }
    };
    // A refused stream leaves what was seen; the stream of the host says what has become of the agent.
    start().catch(() => undefined);
    return () => stop.abort();
  }, [id, isOff]);
  return tail;
}

export function Head({ agent, details, tab }: { agent: Agent; details: Details | null; tab: "work" | "files" }) {
  const { id, name, standing } = agent;
  const look = lookOf(standing);
  const here = (each: string): string | null => (each === tab ? "page" : null);
  const state = `${host.lostSince === null ? "" : "last seen: "}${stateLabel(standing)}`;
  const act = (verb: string, body: object) => () => post(at(id, `/${verb}`), body);
  const pause = act("pause", { reason: "Paused on the page." });
  // The card of an agent that is stuck has its own way to resume it.
  const first =
    look === "paused"
      ? html`<${Resume} agent=${agent} />`
      : look !== "stuck" && html`<${Act} words="Pause" title="It finishes its step first" act=${pause} />`;
  const acts = html`${first}<button popovertarget="stop" disabled=${isAway()}>Stop…</button>
    <div popover id="stop" class="panel"><p>Stop for good, with a report?</p>
      <${Act} words="Stop" look="bad" act=${act("stop", { graceMs: 30_000 })} /></div>`;
  return html`<header class="agent-head"><div class="flex wrap"><h1 class="cut">${name}</h1>
      <span class=${`flex sub grow ${look}`}><${AgentMark} agent=${agent} />${state}</span>
      ${!isEnded(agent) && standing.kind !== "damaged" && acts}</div><p class="sub">${details?.role}</p>
    <nav class="flex" aria-label="Parts of this agent">
      <a class="button quiet" href=${`#/a/${id}`} aria-current=${here("work")}>Work</a>
      <a class="button quiet" href=${`#/a/${id}/files`} aria-current=${here("files")}>Files${" "}
        <span class="muted">${details?.files.length}</span></a></nav></header>`;
}

/** Shows the present moment: the thought as it arrives, or the command that runs with its thought. */
function NowPanel({ agent, tail: { live, since } }: { agent: Agent; tail: Tail }) {
  const isThinking = live !== null || agent.now.kind !== "running";
  const { thought, next, ...more } = readReply(live?.text ?? "");
  const doing = isThinking ? "Thinking" : html`<${Now} agent=${agent} />`;
  const words =
    (isThinking ? thought : agent.now.thought) || html`<span class="muted">Waiting for the first words…</span>`;
  return html`<section class="panel" aria-label="Now"><p class="flex sub"><${Mark} look="running" />${doing}
      <small class="end">step ${agent.step}${since && " · "}${since && html`<${Ago} at=${since} />`}</small></p>
    <p class="thought">${words}${live && html`<i class="caret"></i>`}</p>
    ${live && html`<${Pairs} of=${{ ...more, next: next && html`<code>${next}</code>` }} />`}</section>`;
}

const SHOWN_STEPS = 60;

function Timeline({ agent, notes, opened }: { agent: Agent; notes: readonly Note[]; opened: number | null }) {
  /** The step before those that are shown; null for the newest ones. */
  const [after, setAfter] = useState(opened !== null && opened <= agent.step - SHOWN_STEPS ? opened - 1 : null);
  const path = at(agent.id, `/steps?limit=${SHOWN_STEPS}${after === null ? "" : `&after=${after}`}`);
  const [list, problem] = useLoaded<StepPage>(path, pulseOf(agent));
  useEffect(() => {
    const row = document.getElementById(`step-${opened}`);
    row?.scrollIntoView();
    row?.querySelector("summary")?.focus({ preventScroll: true });
  }, [opened, list !== null]);
  if (!list) return html`<${Pending} problem=${problem} />`;
  const { steps, last } = list;
  const [first] = steps;
  const isUnderWay = (row: StepRow): boolean => row.step === last && row.status === null && !isEnded(agent);
  // The panel above shows a step that has no command yet.
  const shown = steps.filter((row) => !isUnderWay(row) || row.command !== null);
  const noted = after === null ? notes.filter((note) => note.at >= (first?.startedAt ?? "")) : [];
  const rows = [...shown, ...noted].sort((a, b) => (timeOf(a) < timeOf(b) ? 1 : -1));
  const look = lookOf(agent.standing) === "asks" ? "asks" : "running";
  const show = (row: StepRow | Note) =>
    "at" in row
      ? html`<${NoteRow} key=${`note ${row.seq}`} note=${row} />`
      : html`<${Step} key=${row.step} agent=${agent.id} row=${row} look=${isUnderWay(row) ? look : "over"}
          isNamed=${opened === row.step} />`;
  const button = (words: string, to: number | null) =>
    html`<button class="quiet" onClick=${() => setAfter(to)}>${words}</button>`;
  return html`<section><h2>Timeline</h2>${rows.length === 0 && html`<p class="muted">It has taken no step yet.</p>`}
    ${after !== null && button("Newest steps", null)}<ol class="rows">${rows.map(show)}</ol>
    ${first && first.step > 1 && button("Earlier steps", Math.max(0, first.step - SHOWN_STEPS - 1))}</section>`;
}
const timeOf = (row: StepRow | Note): string => ("at" in row ? row.at : row.startedAt);

const NoteRow = ({ note: { look, text, at } }: { note: Note }) => html`<li class="step-row"><p class="entry sub">
  <span></span><${Mark} look=${look} /><span>${text}</span><span class="wide"></span>
  <span class="num muted small">${clockOf(at)}</span></p></li>`;
