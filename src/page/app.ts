/** app.ts -- the screens by address, the bar above all of them, and the keys. */
import { signIn, signOut, toApiError } from "./api.ts";
import { Home } from "./home.ts";
import { type Children, html, render, useEffect, useState } from "./html.ts";
import { Empty, Pairs, Pending } from "./parts.ts";
import { findAgent, followHost, host, stuckAgents, useHost } from "./store.ts";
import type { Agent } from "./types.ts";
import { decode, money, span } from "./words.ts";

interface Place {
  /** Gets the agent of the address, and the rest of the address. */
  readonly View: (props: { agent: Agent; rest: string | undefined }) => Children;
  readonly params: readonly (string | undefined)[];
}

/** Loaded after Home, but at once: when the daemon is gone, another program could answer here with its own code. */
const SCREENS = Promise.all([
  import("./approval.ts").then(({ ApprovalScreen }) => [/^#\/a\/([^/]+)\/approve$/, ApprovalScreen] as const),
  import("./files.ts").then(({ FilesScreen }) => [/^#\/a\/([^/]+)\/files(?:\/(.+))?$/, FilesScreen] as const),
  import("./agent.ts").then(({ AgentScreen }) => [/^#\/a\/([^/]+)(?:\/s\/(\d+))?$/, AgentScreen] as const),
]);

async function findPlace(hash: string): Promise<Place> {
  const [pattern, View = Home] = (await SCREENS).find(([each]) => each.test(hash)) ?? [];
  const params = pattern?.exec(hash)?.slice(1) ?? [];
  return { View, params: params.map((part) => part && decode(part)) };
}

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
  const up = status && `up ${span(clock - Date.parse(status.startedAt))}`;
  const lostMs = lostSince === null ? 0 : clock - lostSince;
  const lost = html`The daemon ${lostMs < 2_000 ? "does not answer" : `has not answered for ${span(lostMs)}`}. Agents
    continue when it is back: <code>goald up</code>. What you see is from before.`;
  const banners = [lostSince !== null && lost, ...(status?.problems ?? [])];
  const place =
    agent && html`<span class="muted">/</span><a href=${`#/a/${agent.id}`} class="sub cut">${agent.name}</a>`;
  const facts = html`<span class="flex facts muted small"><span class="wide">${running} running</span>
    <span class="wide" title="Spent by all agents of this home over their lives">${money(spent)} spent</span>
    <span title=${`goald ${status?.version}, process ${status?.pid}`}>
      ${lostSince === null ? up : html`<b class="bad">no daemon</b>`}</span></span>`;
  return html`<header class="top flex"><nav class="flex" aria-label="Place"><a href="#/" class="name">goald</a>${place}
      </nav>
    ${agent && needs > 0 && html`<a class="badge pill hot small" href="#/">${needs} need${needs === 1 && "s"} you</a>`}
    <span class="grow"></span>${status && facts}
    <button class="quiet" aria-label="Keys" title="Keys (?)" onClick=${showKeys}>?</button></header>
    ${banners.map((words) => words && html`<p class="banner" role="status">${words}</p>`)}`;
}

const KEYS = {
  "j k": "next and previous row",
  Enter: "open the row",
  g: "home: what needs you",
  n: "next thing that needs you",
  f: "files of this agent",
  "/": "say something to this agent",
  Esc: "leave a field, or go up",
  "?": "this list",
};
const Keys = () => html`<dialog class="panel" aria-label="Keys"><form class="stack" method="dialog"><h2>Keys</h2>
  <${Pairs} of=${KEYS} />
  <p class="muted small">No key approves anything. An approval is a button beside the whole command.</p>
  <button>Close</button></form></dialog>`;
const showKeys = (): void => document.querySelector("dialog")?.showModal();

/** Moves the focus by rows: links and buttons of lists. */
function moveRow(by: 1 | -1): void {
  const rows = [...document.querySelectorAll<HTMLElement>("[data-row]")].filter(({ offsetParent }) => offsetParent);
  const now = rows.findIndex((row) => row.contains(document.activeElement));
  rows[Math.max(0, Math.min(rows.length - 1, now + by))]?.focus();
}

function goToNext(id: string | undefined): void {
  const items = [...host.waiting, ...stuckAgents().map((agent) => ({ agent: agent.id, kind: "stuck" }))];
  const next = items[(items.findIndex(({ agent }) => agent === id) + 1) % items.length];
  if (next) location.hash = `#/a/${next.agent}${next.kind === "approval" ? "/approve" : ""}`;
}

function leave(id: string | undefined): void {
  const { activeElement: active } = document;
  if (active instanceof HTMLElement && isField(active)) active.blur();
  else if (id) location.hash = /^#\/a\/[^/]+\/./.test(location.hash) ? `#/a/${id}` : "#/";
}
const isField = (element: Element | null): boolean => /^(INPUT|TEXTAREA|SELECT)$/.test(element?.tagName ?? "");

/** No key approves. */
function useKeys(id: string | undefined): void {
  const acts: Readonly<Record<string, () => unknown>> = {
    j: () => moveRow(1),
    k: () => moveRow(-1),
    g: () => location.assign("#/"),
    n: () => goToNext(id),
    f: () => id && location.assign(`#/a/${id}/files`),
    "/": () => document.querySelector<HTMLElement>("[data-say=true]")?.focus(),
    "?": showKeys,
    Escape: () => leave(id),
  };
  useEffect(() => {
    const press = (event: KeyboardEvent): void => {
      const isWriting = isField(document.activeElement) && event.key !== "Escape";
      // The open list of keys closes itself, and gives the focus back.
      const isOff = isWriting || document.querySelector("dialog[open]") !== null;
      if (isOff || !Object.hasOwn(acts, event.key) || event.metaKey || event.ctrlKey || event.altKey) return;
      event.preventDefault();
      acts[event.key]?.();
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
