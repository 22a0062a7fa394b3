/** home.ts -- what needs a person, what is at work, what has ended. */
import { at, post } from "./api.ts";
import { type Children, html, useSeen } from "./html.ts";
import { Act, AgentMark, Ago, Bar, Call, Empty, Mark, Outside, Who, Wish, Words } from "./parts.ts";
import { host, isAway, isStill, needing } from "./store.ts";
import { Args } from "./texts.ts";
import type { Agent, Waiting } from "./types.ts";
import { capital, clockOf, counted, LOOKS, lookOf, money, span, stateLabel, stateWords } from "./words.ts";

export function Home() {
  const { agents } = host;
  if (agents.length === 0)
    return html`<${Empty} title="No agents yet"><p>Give one a goal in the terminal:</p>
      <pre>goald run -d "Plan a week of meals in plan.md"</pre></${Empty}>`;
  const line = sinceLastLook();
  const needs = needing();
  const ended = agents.filter(isEnded).sort((a, b) => (a.changedAt < b.changedAt ? 1 : -1));
  const working = agentTree(workingOf(agents));
  const cards = needs.map((need) => html`<${Needs} key=${need.agent.id} ...${need} />`);
  const row = ({ agent, depth }: TreeRow) => html`<${Row} key=${agent.id} agent=${agent} depth=${depth} />`;
  const over = html`<section><h2>Ended <span class="muted">${ended.length}</span></h2>
    ${ended.map((agent) => row({ agent, depth: 0 }))}</section>`;
  return html`<div class="page stack">${line && html`<p>${line}</p>`}
    <section>
      <h1>${needs.length > 0 ? "Needs you" : "Nothing needs you"} <span class="hot">${needs.length || ""}</span></h1>
      ${needs.length > 0 && html`<ul class="cards">${cards}</ul>`}</section>
    <section><h2>At work <span class="muted">${working.length}</span></h2>${working.map(row)}
      ${working.length === 0 && html`<p class="muted">No agent is at work.</p>`}</section>
    ${ended.length > 0 && over}</div>`;
}

export const isAtWork = ({ standing }: Agent): boolean => ["running", "waiting"].includes(standing.kind);
export const isEnded = ({ standing }: Pick<Agent, "standing">): boolean => standing.kind === "over";

/** An agent that needs a person has its place above, unless it belongs to a tree that is at work. */
function workingOf(agents: readonly Agent[]): readonly Agent[] {
  const asking = new Set(needing().map(({ agent }) => agent));
  const parents = new Set(agents.map(({ parent }) => parent));
  const isInTree = ({ id, parent, standing }: Agent): boolean =>
    lookOf(standing) !== "stuck" && (parent !== null || parents.has(id));
  return agents.filter((agent) => !isEnded(agent) && (isInTree(agent) || !asking.has(agent)));
}

interface TreeRow {
  readonly agent: Agent;
  readonly depth: number;
}
/** Agents with their helpers below them; an agent whose parent is not among them is at the top. */
export function agentTree(agents: readonly Agent[]): readonly TreeRow[] {
  const ids = new Set(agents.map(({ id }) => id));
  const rank = ({ standing }: Agent): number => LOOKS.indexOf(lookOf(standing));
  const sorted = agents.toSorted((a, b) => rank(a) - rank(b) || (a.createdAt < b.createdAt ? -1 : 1));
  const below = (parent: string | null, depth: number): readonly TreeRow[] =>
    sorted
      .filter((each) => (each.parent !== null && ids.has(each.parent) ? each.parent : null) === parent)
      .flatMap((agent) => [{ agent, depth }, ...below(agent.id, depth + 1)]);
  return below(null, 0);
}

const MAX_ARGS_CHARS = 160;
/** Such a command is shown whole on its card and may be approved there; any other one only where all of it is shown. */
export const isShort = ({ command: { args }, code, files }: Pick<Waiting, "command" | "code" | "files">): boolean =>
  code === null &&
  files.length === 0 &&
  Object.values(args).every((value) => typeof value !== "object") &&
  JSON.stringify(args).length <= MAX_ARGS_CHARS;

/** The card of an agent that needs a person: its command, its question, or what can be done about its pause. */
export function Needs({ agent, item }: ReturnType<typeof needing>[number]) {
  const { id, name, standing, changedAt, reason } = agent;
  if (item?.kind === "approval") return html`<${Approval} key=${item.callId} item=${item} />`;
  const [look, verb, words] = item ? ["asks", "asks", item.question] : ["stuck", stateWords(standing), reason];
  const answer = item && { agent: id, callId: item.callId, label: `Answer ${name}`, button: "Answer" };
  return html`<li class="flex card"><${Mark} look=${look} />
    <div class="grow"><p><a class="name" data-row href=${`#/a/${id}`}><${Who} ...${agent} /></a>
        ${` ${verb} `}<${Ago} at=${item?.since ?? changedAt} /></p>
      <p class="kept">${words}</p>${answer && html`<${Words} ...${answer} />`}</div>
    ${!item && standing.kind !== "damaged" && html`<${Resume} agent=${agent} />`}</li>`;
}

function Approval({ item }: { item: Waiting }) {
  const { agent, command, callId, since, thought, reason } = item;
  const { element, isSeen } = useSeen();
  const isWhole = isShort(item);
  const answer = (verdict: string) => () => post(at(agent, "/approval"), { callId, verdict });
  const acts = isWhole
    ? html`<${Act} words="Deny" isOff=${!isStill()} act=${answer("denied")} />
      <${Act} words="Approve" look="primary" isOff=${!isSeen || !isStill()} act=${answer("approved")} />`
    : html`<a class="button primary" href=${`#/a/${agent}/approve`}>Review</a>`;
  return html`<li class="flex card"><${Mark} look="asks" /><div class="grow" ref=${element}>
      <p><${Wish} item=${item} /> <${Ago} at=${since} /></p><p class="two">${thought || reason}</p>
      <p class="muted small">${thought && reason} <${Outside} item=${item} /></p>
      ${isWhole && html`<${Args} args=${command.args} />`}</div>
    <div class="flex end">${acts}</div></li>`;
}

/** A limit that a person may raise: its name in `more`, the words around the number, its unit and a first number. */
const ALLOWANCES = new Map([
  ["budget", ["usd", "Add $", "", 1, 1]],
  ["step-limit", ["steps", "Add", "steps", 1, 50]],
  ["token-limit", ["tokens", "Add", "thousand tokens", 1_000, 200]],
  ["time-limit", ["timeMs", "Add", "minutes", 60_000, 60]],
] as const);

/** Has an agent go on; one at a limit with more of what it has used. */
export function Resume({ agent: { id, standing, budget } }: { agent: Agent }) {
  const [member = "", before, after, unit = 1, first] = ALLOWANCES.get(standing.cause as "budget") ?? [];
  const resume = (fields: FormData): Promise<unknown> =>
    post(at(id, "/resume"), member ? { more: { [member]: Number(fields.get("more")) * unit } } : {});
  const field = html`<label class="flex">${before}<input type="number" name="more" required min="0.01" step="any"
    defaultValue=${member === "usd" ? Math.ceil((budget?.allowedUsd ?? 0) * 100) / 100 : first} />${after}</label>`;
  return html`<${Act} words="Resume" isOff=${!isStill()} act=${resume}>${member && field}</${Act}>`;
}

export function Now({ agent: { standing, now, until, closing, reason } }: { agent: Agent }): Children {
  if (standing.kind === "over") return closing || reason || capital(standing.cause);
  if (standing.kind !== "running")
    return `${capital(stateLabel(standing))}${until && standing.cause !== "agent" ? `, until ${clockOf(until)}` : ""}`;
  return now.kind === "running" ? html`<${Call} command=${now.command} subject=${now.subject} />` : "Thinking";
}

export function Row({ agent, depth }: TreeRow) {
  const { id, name, step, stalledMs, changedAt, costUsd, budget } = agent;
  const bar =
    budget && html`<${Bar} label=${`Budget of ${name}`} spent=${budget.spentUsd} allowed=${budget.allowedUsd} />`;
  return html`<a class="row" data-row href=${`#/a/${id}`} style=${{ paddingLeft: `${8 + depth * 24}px` }}>
    <${AgentMark} agent=${agent} />
    <span class="grow"><span><${Who} ...${agent} /></span>
      <small class="cut"><${Now} agent=${agent} />
        ${stalledMs !== null && html` <b class="hot">nothing for ${span(stalledMs)}</b>`}</small></span>
    <small class="num wide">step ${step}</small>
    <span class="num cost">${money(budget?.spentUsd ?? costUsd)}
      ${budget && html`<small class="wide"> of ${money(budget.allowedUsd)}</small>`}${bar}</span>
    <small class="num">${stalledMs === null ? html`<${Ago} at=${changedAt} />` : span(stalledMs)}</small></a>`;
}

const SEEN = "goald-seen";
/** A page that comes back sooner, such as one that is loaded anew, goes on with the same look. */
const SAME_LOOK_MS = 5 * 60_000;

/** `agents`: by id whether the agent has ended, and what it has cost. */
const seenNow = () => {
  const agents = host.agents.map((agent) => [agent.id, [isEnded(agent), agent.costUsd]] as const);
  return { at: Date.now(), agents: Object.fromEntries(agents) };
};
type Seen = ReturnType<typeof seenNow>;

/** Compares with what this browser had seen at the end of the last look. */
export function sinceLine(agents: readonly Agent[], seen: Seen, now: number): string {
  const ended = agents.filter((agent) => isEnded(agent) && !seen.agents[agent.id]?.[0]).length;
  const spent = agents.reduce((sum, { id, costUsd }) => sum + costUsd - (seen.agents[id]?.[1] ?? 0), 0);
  if (now - seen.at < SAME_LOOK_MS || (ended === 0 && spent <= 0)) return "";
  return `Since you looked ${span(now - seen.at)} ago: ${counted(ended, "agent")} finished, ${money(spent)} spent.`;
}

/** What Home says of the time before this look; null before it has said it. */
let since: string | null = null;
const keepSeen = (): void => localStorage.setItem(SEEN, JSON.stringify(seenNow()));
globalThis.addEventListener?.("visibilitychange", () => {
  if (since !== null && document.hidden) keepSeen();
  since = null;
});

function sinceLastLook(): string {
  if (since === null && !isAway()) {
    const before = localStorage.getItem(SEEN);
    since = before ? sinceLine(host.agents, JSON.parse(before) as Seen, Date.now()) : "";
    keepSeen();
  }
  return since ?? "";
}
