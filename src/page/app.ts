/** app.ts -- the screens by address, the bar above all of them, and the keys. */
import { type ApiError, signIn, signOut, toApiError } from "./api.ts";
import { Home } from "./home.ts";
import { html, render, useEffect, useState } from "./html.ts";
import { type Children, Empty, Pairs, Pending } from "./parts.ts";
import { findAgent, followHost, host, stuckAgents, useHost } from "./store.ts";
import { decode, money, span } from "./words.ts";

type Screen = (props: { params: readonly (string | undefined)[] }) => Children;

/** After Home, but at once: when the daemon is gone, another program could answer at this address with its own code. */
async function loadScreens(): Promise<readonly (readonly [RegExp, Screen])[]> {
  const [approval, files, agent] = await Promise.all([
    import("./approval.ts"),
    import("./files.ts"),
    import("./agent.ts"),
  ]);
  return [
    [/^#\/a\/([^/]+)\/approve$/, approval.ApprovalScreen],
    [/^#\/a\/([^/]+)\/files(?:\/(.+))?$/, files.FilesScreen],
    [/^#\/a\/([^/]+)(?:\/s\/(\d+))?$/, agent.AgentScreen],
  ];
}
const screens = loadScreens();

interface Place {
  readonly View: Screen;
  readonly params: readonly (string | undefined)[];
}
const HOME: Place = { View: Home, params: [] };

async function findPlace(hash: string): Promise<Place> {
  const [pattern, View] = (await screens).find(([each]) => each.test(hash)) ?? [];
  const params = pattern?.exec(hash)?.slice(1);
  return View && params ? { View, params: params.map((part) => part && decode(part)) } : HOME;
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
  const [place, setPlace] = useState(HOME);
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

function TopBar({ id, onHelp }: { id: string | undefined; onHelp: () => void }) {
  const { agents, waiting, status, lostSince, isLoaded, clock } = useHost();
  const agent = findAgent(id);
  const needs = waiting.length + stuckAgents().length;
  const title = `${needs > 0 ? `(${needs}) ` : ""}${agent ? `${agent.name} · ` : ""}goald`;
  useEffect(() => {
    document.title = title;
  }, [title]);
  const running = agents.filter(({ standing }) => standing.kind === "running").length;
  const spent = agents.reduce((sum, { costUsd }) => sum + costUsd, 0);
  const lostMs = lostSince === null ? 0 : clock - lostSince;
  const lost = lostMs < 2_000 ? "does not answer" : `has not answered for ${span(lostMs)}`;
  return html`<header class="top flex"><nav class="flex" aria-label="Place"><a href="#/" class="name">goald</a>${
    agent && html`<span class="muted">/</span><a href=${`#/a/${agent.id}`} class="sub cut">${agent.name}</a>`
  }</nav>
    ${agent && needs > 0 && html`<a class="pill hot" href="#/">${needs} need${needs === 1 && "s"} you</a>`}
    <span class="grow"></span>
    ${
      isLoaded &&
      html`<span class="flex facts muted small tab"><span class="wide">${running} running</span>
      <span class="wide" title="Spent by all agents of this home over their lives">${money(spent)} spent</span>
      ${
        lostSince === null
          ? status &&
            html`<span title=${`goald ${status.version}, process ${status.pid}`}>up ${span(
              clock - Date.parse(status.startedAt),
            )}</span>`
          : html`<b class="bad">no daemon</b>`
      }</span>`
    }
    <button class="quiet" aria-label="Keys" title="Keys (?)" onClick=${onHelp}>?</button></header>
    ${
      lostSince !== null &&
      html`<p class="banner" role="status">The daemon ${lost}. Agents continue when it is back:
      <code>goald up</code>. What you see is from before.</p>`
    }
    ${status?.problems.map((problem) => html`<p class="banner" role="status">${problem}</p>`)}`;
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
const Help = ({ onClose }: { onClose: () => void }) => html`<dialog class="panel" aria-label="Keys" onClose=${onClose}
  ref=${(dialog: HTMLDialogElement | null) => dialog?.isConnected && !dialog.open && dialog.showModal()}>
  <form class="stack" method="dialog"><h2>Keys</h2><${Pairs} of=${KEYS} />
  <p class="muted small">No key approves anything. An approval is a button beside the whole command.</p>
  <button>Close</button></form></dialog>`;

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
function useKeys(id: string | undefined, isHelp: boolean, setHelp: (is: boolean) => void): void {
  const acts: Readonly<Record<string, () => unknown>> = {
    j: () => moveRow(1),
    k: () => moveRow(-1),
    g: () => location.assign("#/"),
    n: () => goToNext(id),
    f: () => id && location.assign(`#/a/${id}/files`),
    "/": () => document.querySelector<HTMLElement>("[data-say=true]")?.focus(),
    "?": () => setHelp(true),
    Escape: () => leave(id),
  };
  useEffect(() => {
    const press = (event: KeyboardEvent): void => {
      const isWriting = isField(document.activeElement) && event.key !== "Escape";
      // An open list closes itself, and gives the focus back.
      if (isHelp || !Object.hasOwn(acts, event.key) || isWriting || event.metaKey || event.ctrlKey || event.altKey)
        return;
      event.preventDefault();
      acts[event.key]?.();
    };
    addEventListener("keydown", press);
    return () => removeEventListener("keydown", press);
  });
}

function App() {
  const { View, params } = usePlace();
  const [isHelp, setHelp] = useState(false);
  const { isLoaded } = useHost();
  const [id] = params;
  useKeys(id, isHelp, setHelp);
  return html`<${TopBar} id=${id} onHelp=${() => setHelp(true)} /><main>${
    isLoaded ? html`<${View} key=${id} params=${params} />` : html`<${Pending} />`
  }</main>
    ${isHelp && html`<${Help} onClose=${() => setHelp(false)} />`}`;
}

/** In the place of the page: what failed, and for a session that is over how to begin one. */
const Door = ({ problem: { status, message } }: { problem: ApiError }) => html`<main><${Empty} title="goald">
  <p>${message}${status === 401 && " Open it from a terminal:"}</p>
  ${status === 401 && html`<pre>goald dashboard --open</pre>`}</${Empty}></main>`;

async function start(): Promise<void> {
  const show = (view: Children): void => render(html`${view}`, document.body);
  document.body.replaceChildren();
  try {
    await signIn();
    show(html`<${App} />`);
    await followHost();
  } catch (thrown) {
    const problem = toApiError(thrown);
    if (problem.status === 401) signOut();
    show(html`<${Door} problem=${problem} />`);
  }
}

void start();
