/** parts.ts -- small components that several screens share. */
import { type ApiError, at, post, toApiError } from "./api.ts";
import { type Children, html, useState } from "./html.ts";
import { changed, findAgent, host, isAway } from "./store.ts";
import type { Agent, Waiting, WholeStep } from "./types.ts";
import { capital, describeCall, type Look, lookOf, placeOf, sinceWords, stateLabel, subjectOf } from "./words.ts";

export const Ago = ({ at }: { at: string }) =>
  html`<time datetime=${at} title=${new Date(at).toLocaleString()}>${sinceWords(Date.now() - Date.parse(at))}</time>`;

/** Paths in a square of 16. */
const SHAPES: Readonly<Record<Look | "says" | "failed", string>> = {
  asks: "M8 2.2 14.2 13.2H1.8Z",
  stuck: "M8 2.2 14.2 13.2H1.8ZM8 6v3.4M8 10.6v1.4",
  running: "M4.8 8a3.2 3.2 0 1 0 6.4 0a3.2 3.2 0 1 0-6.4 0",
  waits: "M2.5 8a5.5 5.5 0 1 0 11 0a5.5 5.5 0 1 0-11 0",
  paused: "M5.8 3.5v9M10.2 3.5v9",
  done: "m3 8.5 3.4 3.4L13 4.8",
  over: "M4 4h8v8H4Z",
  says: "M2.5 3.5h11v7.5H7l-3 2.5V11H2.5Z",
  failed: "m4 4 8 8m0-8-8 8",
};
/** With `label` it is read aloud; without, the words beside it say the same. */
export const Mark = ({ look, label }: { look: keyof typeof SHAPES; label?: string }) =>
  html`<svg class=${`mark ${look}`} viewBox="0 0 16 16" height="16" stroke="currentColor" stroke-width="1.7"
    fill=${look === "asks" || look === "running" ? "currentColor" : "none"}
    stroke-dasharray=${look === "waits" ? "3.4 2.4" : null} role=${label && "img"} aria-label=${label}
    aria-hidden=${label ? null : "true"}><path d=${SHAPES[look]} /></svg>`;
export const AgentMark = ({ agent: { standing, stalledMs } }: { agent: Agent }) =>
  html`<${Mark} look=${stalledMs === null ? lookOf(standing) : "stuck"} label=${stateLabel(standing)} />`;

/** `used`: with what is set aside for helpers and for requests under way. */
type BarProps = Readonly<Record<"spent" | "allowed", number> & { label: string; used?: number }>;
export const Bar = ({ label, allowed, spent, used = spent }: BarProps) => {
  const share = (amount: number): string => `${allowed > 0 ? Math.min(100, (amount / allowed) * 100) : 0}%`;
  return html`<span class=${spent >= allowed * 0.8 ? "bar stuck" : "bar muted"} role="meter"
    aria-label=${label} aria-valuemin="0" aria-valuemax=${allowed} aria-valuenow=${Math.min(allowed, used)}
    style=${{ "--spent": share(spent), "--used": share(used) }}></span>`;
};

/** `isInside`: a sentence. */
type CallProps = Readonly<{ command: string; subject: string; isInside?: boolean }>;
export const Call = ({ command, subject, isInside = false }: CallProps) => {
  const [verb, what] = describeCall(command, subject);
  return html`<span title=${command}>${isInside ? verb : capital(verb)} ${what && html`<b>${what}</b>`}</span>`;
};
/** An agent's name, with the id where another one has the same name, and whose helper it is. */
export const Who = ({ id, name, parent }: Pick<Agent, "id" | "name"> & Partial<Pick<Agent, "parent">>) =>
  html`<b>${name}</b>${host.agents.some((other) => other.name === name && other.id !== id) && ` (${id})`}
    ${parent && html`<small> helper of ${parent}</small>`}`;
/** "Household Ledger wants to write budget.md" */
export const Wish = ({ item: { agent, name, command } }: { item: Waiting }) =>
  html`<a class="name" data-row href=${`#/a/${agent}/approve`}>
      <${Who} id=${agent} name=${name} parent=${findAgent(agent)?.parent} /></a> wants to${" "}
    <${Call} command=${command.name} subject=${subjectOf(command.args)} isInside />`;

/** Whose words from outside were read: a person must see that before an answer. */
export const Outside = ({ item: { received, agent } }: { item: Waiting }) => {
  const source = ({ name, step }: Waiting["received"][number], at: number) =>
    html`${at > 0 && ", "}<b class="hot">${placeOf(name)}</b> in <${StepLink} of=${agent} step=${step} />`;
  if (received.length === 0) return null;
  const sources = received.slice(0, 2).map(source);
  const more = received.length > 2 && ` and ${received.length - 2} more`;
  return html`<span title="Words from outside may try to steer an agent.">It has read ${sources}${more}. </span>`;
};

export const StepLink = ({ of, step }: { of: string; step: number }) =>
  html`<a href=${`#/a/${of}/s/${step}`}>step ${step}</a>`;
export const fileLink = (agent: string, path: string): string => `#/a/${agent}/files/${encodeURIComponent(path)}`;

const WHOSE = { person: "a person", agent: "", goald: "goald", file: "a file", web: "the web" } as const;
type OriginProps = Readonly<{ of: string; memory: Pick<WholeStep["recalls"][number], "kind" | "trust" | "step"> }>;
/** Where a memory of an agent comes from: "step 149", or "fact of step 12, from the web". */
export const Origin = ({ of, memory: { kind, trust, step } }: OriginProps) => {
  const what = kind.replace("_", " ");
  const whose = WHOSE[trust] && `, from ${WHOSE[trust]}`;
  const link = step !== null && html`<${StepLink} of=${of} step=${step} />`;
  return html`${link ? kind !== "step" && `${what} of ` : what}${link}${whose}`;
};

type Entries = readonly (readonly [name: Children, text: Children])[];
/** Names with their texts, without those that are empty. A name may come again. */
export const Pairs = ({ of }: { of: Readonly<Record<string, Children>> | Entries }) => {
  const entries: Entries = Array.isArray(of) ? of : Object.entries(of);
  return html`<dl class="pairs">${entries.map(([name, text]) => text && html`<dt>${name}</dt><dd>${text}</dd>`)}</dl>`;
};

export const Problem = ({ problem }: { problem: ApiError | null }) =>
  problem && html`<p class="bad problem" role="alert">${problem.message} ${problem.hint}</p>`;
export const Empty = ({ title, children }: { title: string; children?: Children }) =>
  html`<div class="page stack"><h1>${title}</h1>${children}</div>`;

/** In the place of what is not loaded, or could not be. */
export const Pending = ({ problem = null }: { problem?: ApiError | null }) =>
  problem ? html`<${Problem} problem=${problem} />` : html`<p class="muted" aria-busy="true">Loading…</p>`;

/** A person chooses one of a few. Returns the chosen one, at first the first, and the buttons, which are in a line. */
export function useSwitch(label: string, options: readonly string[]): readonly [chosen: string, buttons: Children] {
  const [chosen = "", choose] = useState(options[0]);
  const button = (option: string) => html`<button class="quiet small" aria-pressed=${option === chosen}
    onClick=${() => choose(option)}>${capital(option)}</button>`;
  return [chosen, html`<span class="flex" role="group" aria-label=${label}>${options.map(button)}</span>`];
}

export const fieldText = ({ target }: Event): string => (target as HTMLInputElement).value;

interface ActProps {
  readonly words: string;
  /** Gets the fields of the form. */
  readonly act: (fields: FormData) => Promise<unknown>;
  readonly isOff?: boolean;
  readonly look?: string;
  readonly title?: string;
  readonly children?: Children;
}
/** A form of one request: its fields, its button, and below it why the request failed, until the next one. */
export function Act({ words, act, isOff = false, look = "", title, children }: ActProps) {
  const [problem, setProblem] = useState<ApiError | null>(null);
  const [isBusy, setBusy] = useState(false);
  // Nothing can be asked for while the same request is under way, or the daemon is gone.
  const cannot = isOff || isBusy || isAway();
  const submit = async (event: Event): Promise<void> => {
    event.preventDefault();
    if (cannot) return;
    const fields = new FormData(event.currentTarget as HTMLFormElement);
    setBusy(true);
    setProblem(await act(fields).then(() => null, toApiError));
    setBusy(false);
    changed();
  };
  return html`<form class="flex" onSubmit=${submit}>${children}
    <button class=${look} disabled=${cannot} title=${title}>${words}</button><${Problem} problem=${problem} /></form>`;
}

/** Words that were not sent yet, by their field: they stay when a screen is left. */
const drafts = new Map<string, string>();
/** By field and words: the same key until an answer has come, so that they arrive once. */
const keys = new Map<string, string>();

interface WordsProps {
  readonly agent: string;
  /** The call that the words are about; absent: none. */
  readonly callId?: string;
  readonly label: string;
  readonly button: string;
  readonly hint?: string;
  /** Denies the call, which needs no words; the field has the focus where it appears. Absent: the words are a message. */
  readonly onDeny?: (text: string) => Promise<unknown>;
}
/** A field for words to an agent. It is emptied when they have arrived, unless others were written meanwhile. */
export function Words({ agent, callId = "", label, button, hint = "", onDeny }: WordsProps) {
  const field = `${agent} ${callId}`;
  const isTouch = matchMedia("(pointer: coarse)").matches;
  const hints = `${hint} ${isTouch ? "" : "Shift+Enter for a new line."}`.trim();
  const act = async (): Promise<void> => {
    const text = (drafts.get(field) ?? "").trim();
    const key = keys.get(`${field} ${text}`) ?? crypto.randomUUID();
    keys.set(`${field} ${text}`, key);
    await (onDeny ? onDeny(text) : post(at(agent, "/messages"), { from: "you", text, key }));
    keys.delete(`${field} ${text}`);
    if (drafts.get(field)?.trim() === text) drafts.delete(field);
  };
  const keep = (event: Event): unknown => drafts.set(field, fieldText(event));
  const press = (event: KeyboardEvent): void => {
    if (event.key !== "Enter" || event.shiftKey || event.isComposing || isTouch) return;
    event.preventDefault();
    (event.target as HTMLTextAreaElement).form?.requestSubmit();
  };
  return html`<div class="words"><${Act} key=${field} words=${button} act=${act}>
    <textarea class="grow" rows="1" aria-label=${label} placeholder=${`${label}…`} required=${!onDeny}
      autofocus=${!!onDeny} value=${drafts.get(field) ?? ""} onInput=${keep} onKeyDown=${press}></textarea>
    ${hints && html`<small class="hint">${hints}</small>`}</${Act}></div>`;
}
