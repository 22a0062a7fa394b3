/** app.ts -- the screens by address, the bar above all of them, and the keys. */
import { type ApiError, signIn, signOut, toApiError } from "./api.ts";
import { Home } from "./home.ts";
import { html, render } from "./html.ts";
import { Empty, Pairs, Pending } from "./parts.ts";
import { changed, findAgent, followHost, host, move, needing } from "./store.ts";
import type { Agent } from "./types.ts";
import { decode, money, sinceWords } from "./words.ts";

/** Why the page cannot go on; null while it can. */
let fault: ApiError | null = null;

/**
 * The screens of an agent. They are loaded after Home, but at once: when the daemon is gone, another program could answer
 * here with its own code.
 */
const screens = { AgentScreen: Pending, ApprovalScreen: Pending };
void Promise.all([import("./agent.ts"), import("./approval.ts")]).then((loaded) => {
  Object.assign(screens, ...loaded);
  changed();
});

/** The screen of an address. */
function App() {
  const [, id, part, rest = ""] = /^#\/a\/([^/]+)(?:\/(approve|files|s)(?:\/(.+))?)?$/.exec(location.hash) ?? [];
  const agent = findAgent(id && decode(id));
  if (fault) {
    const way = fault.status === 401 && html`<p>Open it from a terminal:</p><pre>goald dashboard --open</pre>`;
    return html`<main><${Empty} title="goald"><p>${fault.message}</p>${way}</${Empty}></main>`;
  }
  const none = html`<${Empty} title="No such agent"><p>It may have been removed. <a href="#/">Home</a></p></${Empty}>`;
  const View = part === "approve" ? screens.ApprovalScreen : screens.AgentScreen;
  const shown = agent ? html`<${View} key=${agent.id} agent=${agent} part=${part} rest=${decode(rest)} />` : none;
  const screen = id ? shown : html`<${Home} />`;
  return html`<${TopBar} agent=${agent} /><main>${host.status ? screen : html`<${Pending} />`}</main><${Keys} />`;
}

function TopBar({ agent }: { agent: Agent | undefined }) {
  const { agents, status, lostSince } = host;
  const needs = needing().length;
  document.title = `${needs > 0 ? `(${needs}) ` : ""}${agent ? `${agent.name} · ` : ""}goald`;
  const running = agents.filter(({ standing }) => standing.kind === "running").length;
  const spent = agents.reduce((sum, { costUsd }) => sum + costUsd, 0);
  const up = status && `up ${sinceWords(Date.now() - Date.parse(status.startedAt))}`;
  const lost = html`The daemon has not answered for ${sinceWords(Math.max(1_000, Date.now() - Number(lostSince)))}.
    Agents continue when it is back: <code>goald up</code>. What you see is from before.`;
  const banners = lostSince === null ? (agent ? [] : status?.problems) : [lost];
  const place = agent && html`<span class="muted">/</span><a href=${`#/a/${agent.id}`} class="cut">${agent.name}</a>`;
  const facts = html`<small class="wide">${running} running</small>
    <small class="wide" title="Spent by all agents of this home over their lives">${money(spent)} spent</small>
    <small title=${`goald ${status?.version}, process ${status?.pid}`}>
      ${lostSince === null ? up : html`<b class="bad">no daemon</b>`}</small>`;
  return html`<header class="top flex">
    <nav class="flex grow" aria-label="Place"><a href="#/"><b>goald</b></a>${place}</nav>
    ${agent && needs > 0 && html`<a class="hot small" href="#/">${needs} need${needs === 1 && "s"} you</a>`}
    ${status && facts}<button class="quiet" aria-label="Keys" title="Keys (?)" popovertarget="keys">?</button></header>
    ${banners?.map((words) => html`<p class="banner" role="status">${words}</p>`)}`;
}

/** By key: its words in the list, and its action. No key approves. */
const KEYS: Readonly<Record<string, readonly [words: string, act?: () => unknown]>> = {
  j: ["next row", () => moveRow(1)],
  k: ["previous row", () => moveRow(-1)],
  Enter: ["open the row"],
  g: ["home: what needs you", () => location.assign("#/")],
  n: ["next thing that needs you", goToNext],
  f: ["files of this agent", () => ofAgent() && location.assign(`${ofAgent()}/files`)],
  "/": ["say something to this agent", () => document.querySelector<HTMLElement>(".words textarea")?.focus()],
  Escape: ["leave a field, or go up", leave],
  "?": ["this list", () => document.getElementById("keys")?.showPopover()],
};
const Keys = () => html`<dialog popover id="keys" class="panel stack" aria-label="Keys"><h2>Keys</h2>
  <${Pairs} of=${Object.entries(KEYS).map(([key, [words]]) => [key, words])} />
  <p class="muted small">No key approves anything. An approval is a button beside the whole command.</p>
  <button autofocus popovertarget="keys">Close</button></dialog>`;

/** The address of the agent that is shown; empty on Home. */
const ofAgent = (): string => /^#\/a\/[^/]+/.exec(location.hash)?.[0] ?? "";

/** Moves the focus by rows: links of lists, and steps. */
function moveRow(by: 1 | -1): void {
  const rows = [...document.querySelectorAll<HTMLElement>("[data-row]")].filter(({ offsetParent }) => offsetParent);
  const active = document.activeElement ?? document.body;
  // The last row that is not behind what has the focus: a card has buttons after its row.
  const now = rows.findLastIndex((row) => !(row.compareDocumentPosition(active) & Node.DOCUMENT_POSITION_PRECEDING));
  rows[Math.max(0, Math.min(rows.length - 1, now + by))]?.focus();
}

function goToNext(): void {
  const needs = needing();
  const next = needs[(needs.findIndex(({ agent }) => `#/a/${agent.id}` === ofAgent()) + 1) % needs.length];
  if (next) location.hash = `#/a/${next.agent.id}${next.item?.kind === "approval" ? "/approve" : ""}`;
}

const FOCUSED_FIELD = ":is(input, textarea, select):focus";
function leave(): void {
  const field = document.querySelector<HTMLElement>(FOCUSED_FIELD);
  if (field) field.blur();
  else if (ofAgent()) location.hash = location.hash === ofAgent() ? "#/" : ofAgent();
}

function press(event: KeyboardEvent): void {
  const act = Object.hasOwn(KEYS, event.key) ? KEYS[event.key]?.[1] : undefined;
  // An open popover closes itself, and gives the focus back.
  const off = event.key === "Escape" ? ":popover-open" : `:popover-open, ${FOCUSED_FIELD}`;
  if (!act || document.querySelector(off) || event.metaKey || event.ctrlKey || event.altKey) return;
  event.preventDefault();
  act();
}

/** By the address of a screen: the address of the link that had the focus when the screen was left. */
const left = new Map<string, string | null | undefined>();

/** Draws the screen of a new address, with the focus on the link it was left by, or else on its heading. */
function go({ oldURL }: HashChangeEvent): void {
  // An address with a new ticket was pasted.
  if (location.hash.startsWith("#t=")) location.reload();
  const from = new URL(oldURL).hash;
  // A new entry of the history has no state.
  const isReturn = history.state !== null || from.startsWith(location.hash);
  history.replaceState(true, "");
  left.set(from, document.activeElement?.getAttribute("href"));
  move();
  changed();
  if (!location.hash.includes("/s/")) scrollTo(0, 0);
  // The focus stays in what was not drawn anew.
  if (document.querySelector("main")?.contains(document.activeElement)) return;
  const heading = [...document.querySelectorAll("h1")].at(-1);
  heading?.setAttribute("tabindex", "-1");
  const links = [...document.querySelectorAll<HTMLElement>("main [href]")];
  const link = isReturn && links.find((each) => each.getAttribute("href") === left.get(location.hash));
  (link || heading)?.focus();
}

/** In the place of the page it shows what failed, and for a session that is over how to begin one. */
async function start(): Promise<void> {
  const draw = (): void => render(html`<${App} />`, document.body);
  document.body.replaceChildren();
  addEventListener("hashchange", go);
  addEventListener("keydown", press);
  try {
    await signIn();
    history.replaceState(true, "");
    draw();
    await followHost(draw);
  } catch (thrown) {
    fault = toApiError(thrown);
    if (fault.status === 401) signOut();
    draw();
  }
}

void start();
