/** app.ts -- the screens by address, the bar above all of them, and the keys. */
import { signIn, signOut, toApiError } from "./api.ts";
import { Home } from "./home.ts";
import { html, render, useEffect, useLayoutEffect, useState } from "./html.ts";
import { Empty, Pairs, Pending } from "./parts.ts";
import { findAgent, followHost, host, stuckAgents, useHost } from "./store.ts";
import { decode, money, sinceWords } from "./words.ts";

/**
 * By address; each gets the agent and the rest of the address. They are loaded after Home, but at once: when the daemon
 * is gone, another program could answer here with its own code.
 */
const SCREENS = Promise.all([
  import("./approval.ts").then(({ ApprovalScreen }) => [/^#\/a\/([^/]+)\/approve$/, ApprovalScreen] as const),
  import("./files.ts").then(({ FilesScreen }) => [/^#\/a\/([^/]+)\/files(?:\/(.+))?$/, FilesScreen] as const),
  import("./agent.ts").then(({ AgentScreen }) => [/^#\/a\/([^/]+)(?:\/s\/(\d+))?$/, AgentScreen] as const),
]);

async function findPlace(hash: string) {
  const [pattern, View = Home] = (await SCREENS).find(([each]) => each.test(hash)) ?? [];
  const params = pattern?.exec(hash)?.slice(1) ?? [];
  return { View, params: params.map((part) => part && decode(part)) };
}
type Place = Awaited<ReturnType<typeof findPlace>>;

/** By the address of a screen: the address of the link that had the focus when the screen was left. */
const left = new Map<string, string | null | undefined>();

/** Moves the focus to a link, or else to the heading. It stays in what was not drawn anew. */
function moveFocus(href: string | null | undefined): void {
  if (document.querySelector("main")?.contains(document.activeElement)) return;
  const links = [...document.querySelectorAll<HTMLElement>("main [href]")];
  const heading = [...document.querySelectorAll("h1")].at(-1);
  heading?.setAttribute("tabindex", "-1");
  (links.find((link) => link.getAttribute("href") === href) ?? heading)?.focus();
}

function usePlace(): Place {
  const [place, setPlace] = useState<Place>({ View: Home, params: [] });
  useEffect(() => {
    const go = async (event?: HashChangeEvent): Promise<void> => {
      // An address with a new ticket was pasted.
      if (location.hash.startsWith("#t=")) return location.reload();
      const from = event && new URL(event.oldURL).hash;
      // A new entry of the history has no state.
      const isReturn = history.state !== null || from?.startsWith(location.hash);
      history.replaceState(true, "");
      if (from) left.set(from, document.activeElement?.getAttribute("href"));
      setPlace(await findPlace(location.hash));
      // After the screen was drawn.
      if (event) setTimeout(moveFocus, 0, isReturn ? left.get(location.hash) : null);
      if (!location.hash.includes("/s/")) scrollTo(0, 0);
    };
    addEventListener("hashchange", go);
    void go();
    return () => removeEventListener("hashchange", go);
  }, []);
  return place;
}

function TopBar({ id }: { id: string | undefined }) {
  const { agents, waiting, status, lostSince, clock } = useHost();
  const agent = findAgent(id);
  const needs = waiting.length + stuckAgents().length;
  const title = `${needs > 0 ? `(${needs}) ` : ""}${agent ? `${agent.name} · ` : ""}goald`;
  useEffect(() => {
    document.title = title;
  }, [title]);
  const running = agents.filter(({ standing }) => standing.kind === "running").length;
  const spent = agents.reduce((sum, { costUsd }) => sum + costUsd, 0);
  const up = status && `up ${sinceWords(clock - Date.parse(status.startedAt))}`;
  const lostMs = lostSince === null ? 0 : clock - lostSince;
  const lost = html`The daemon ${lostMs < 2_000 ? "does not answer" : `has not answered for ${sinceWords(lostMs)}`}. Agents
    continue when it is back: <code>goald up</code>. What you see is from before.`;
  const banners = [lostSince !== null && lost, ...(status?.problems ?? [])];
  const place =
    agent && html`<span class="muted">/</span><a href=${`#/a/${agent.id}`} class="sub cut">${agent.name}</a>`;
  const facts = html`<small class="wide">${running} running</small>
    <small class="wide" title="Spent by all agents of this home over their lives">${money(spent)} spent</small>
    <small title=${`goald ${status?.version}, process ${status?.pid}`}>
      ${lostSince === null ? up : html`<b class="bad">no daemon</b>`}</small>`;
  return html`<header class="top flex">
    <nav class="flex grow" aria-label="Place"><a href="#/" class="name">goald</a>${place}</nav>
    ${agent && needs > 0 && html`<a class="badge hot small" href="#/">${needs} need${needs === 1 && "s"} you</a>`}
    ${status && facts}<button class="quiet" aria-label="Keys" title="Keys (?)" onClick=${showKeys}>?</button></header>
    ${banners.map((words) => words && html`<p class="banner" role="status">${words}</p>`)}`;
}

/** By key: its words in the list, and its action, which receives the id of the shown agent. No key approves. */
const KEYS: Readonly<Record<string, readonly [words: string, act?: (id: string | undefined) => unknown]>> = {
  j: ["next row", () => moveRow(1)],
  k: ["previous row", () => moveRow(-1)],
  Enter: ["open the row"],
  g: ["home: what needs you", () => location.assign("#/")],
  n: ["next thing that needs you", goToNext],
  f: ["files of this agent", (id) => id && location.assign(`#/a/${id}/files`)],
  "/": ["say something to this agent", () => document.querySelector<HTMLElement>(".words textarea")?.focus()],
  Escape: ["leave a field, or go up", leave],
  "?": ["this list", showKeys],
};
const Keys = () => html`<dialog class="panel" aria-label="Keys"><form class="stack" method="dialog"><h2>Keys</h2>
  <${Pairs} of=${Object.fromEntries(Object.entries(KEYS).map(([key, [words]]) => [key, words]))} />
  <p class="muted small">No key approves anything. An approval is a button beside the whole command.</p>
  <button>Close</button></form></dialog>`;
function showKeys(): void {
  document.querySelector("dialog")?.showModal();
}

/** Moves the focus by rows: links of lists, and steps. */
function moveRow(by: 1 | -1): void {
  const rows = [...document.querySelectorAll<HTMLElement>("[data-row]")].filter(({ offsetParent }) => offsetParent);
  const active = document.activeElement ?? document.body;
  // The last row that is not behind what has the focus: a card has buttons after its row.
  const now = rows.findLastIndex((row) => !(row.compareDocumentPosition(active) & Node.DOCUMENT_POSITION_PRECEDING));
  rows[Math.max(0, Math.min(rows.length - 1, now + by))]?.focus();
}

function goToNext(id: string | undefined): void {
  const items = [...host.waiting, ...stuckAgents().map((agent) => ({ agent: agent.id, kind: "stuck" }))];
  const next = items[(items.findIndex(({ agent }) => agent === id) + 1) % items.length];
  if (next) location.hash = `#/a/${next.agent}${next.kind === "approval" ? "/approve" : ""}`;
}

function leave(id: string | undefined): void {
  const field = document.querySelector<HTMLElement>(FOCUSED_FIELD);
  if (field) field.blur();
  else if (id) location.hash = /^#\/a\/[^/]+\/./.test(location.hash) ? `#/a/${id}` : "#/";
}
const FOCUSED_FIELD = ":is(input, textarea, select):focus";

function useKeys(id: string | undefined): void {
  // Before it is painted: a key must not act on the screen that was there before.
  useLayoutEffect(() => {
    const press = (event: KeyboardEvent): void => {
      const act = Object.hasOwn(KEYS, event.key) ? KEYS[event.key]?.[1] : undefined;
      // The open list of keys closes itself, and gives the focus back.
      const off = event.key === "Escape" ? "dialog[open]" : `dialog[open], ${FOCUSED_FIELD}`;
      if (!act || document.querySelector(off) || event.metaKey || event.ctrlKey || event.altKey) return;
      event.preventDefault();
      act(id);
    };
    addEventListener("keydown", press);
    return () => removeEventListener("keydown", press);
  });
}

function App() {
  const { View, params } = usePlace();
  const { status } = useHost();
  const [id, rest] = params;
  const agent = findAgent(id);
  useKeys(id);
  const none = html`<${Empty} title="No such agent"><p>It may have been removed. <a href="#/">Home</a></p></${Empty}>`;
  const screen = id && !agent ? none : html`<${View} key=${agent?.id} agent=${agent} rest=${rest} />`;
  return html`<${TopBar} id=${id} /><main>${status ? screen : html`<${Pending} />`}</main><${Keys} />`;
}

/** In the place of the page it shows what failed, and for a session that is over how to begin one. */
async function start(): Promise<void> {
  document.body.replaceChildren();
  try {
    await signIn();
    render(html`<${App} />`, document.body);
    await followHost();
  } catch (thrown) {
    const { status, message } = toApiError(thrown);
    if (status === 401) signOut();
    const way = status === 401 && html`<p>Open it from a terminal:</p><pre>goald dashboard --open</pre>`;
    render(html`<main><${Empty} title="goald"><p>${message}</p>${way}</${Empty}></main>`, document.body);
  }
}

void start();
