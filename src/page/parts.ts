/** parts.ts -- small components that several screens share. */
import type { ApiError } from "./api.ts";
import { useAction } from "./hooks.ts";
import { type Children, html, useState } from "./html.ts";
import { useHost } from "./store.ts";
import type { Agent, Waiting } from "./types.ts";
import { capital, describeCall, type Look, lookOf, sinceWords, stateLabel, subjectOf } from "./words.ts";

export function Ago({ at, after = "" }: { at: string; after?: string }) {
  const { clock } = useHost();
  const since = sinceWords(clock - Date.parse(at));
  return html`<time datetime=${at} title=${new Date(at).toLocaleString()}>${since}${after}</time>`;
}

const circle = (radius: number): string =>
  `M${8 - radius} 8a${radius} ${radius} 0 1 0 ${2 * radius} 0a${radius} ${radius} 0 1 0-${2 * radius} 0`;
/** Attributes of paths. An element in a constant would keep the first tree that it stood in, and all rows of it. */
const SHAPES: Readonly<Record<Look | "says" | "failed", readonly Readonly<Record<string, string>>[]>> = {
  asks: [{ d: "M8 2.2 14.2 13.2H1.8Z", fill: "currentColor" }],
  stuck: [{ d: "M8 2.2 14.2 13.2H1.8ZM8 6.3v3.2M8 11.3v.2" }],
  running: [
    { d: circle(6.5), class: "halo", fill: "currentColor", stroke: "none" },
    { d: circle(2.4), fill: "currentColor" },
  ],
  waits: [{ d: circle(5.5), "stroke-dasharray": "2 3.2" }],
  paused: [{ d: "M5.8 3.5v9M10.2 3.5v9" }],
  done: [{ d: "m3 8.5 3.4 3.4L13 4.8" }],
  over: [{ d: "M4 4h8v8H4Z" }],
  says: [{ d: "M2.5 3.5h11v7.5H7l-3 2.5V11H2.5Z" }],
  failed: [{ d: "m4 4 8 8m0-8-8 8" }],
};
/** With `label` it is read aloud; without, the words beside it say the same. */
export const Mark = ({ look, label }: { look: keyof typeof SHAPES; label?: string }) => {
  const paths = SHAPES[look].map((attributes) => html`<path ...${attributes} />`);
  return html`<svg class=${`mark ${look}`} viewBox="0 0 16 16" role=${label && "img"} aria-label=${label}
    aria-hidden=${label ? null : "true"}>${paths}</svg>`;
};
export const AgentMark = ({ agent: { standing, stalledMs } }: { agent: Agent }) =>
  html`<${Mark} look=${stalledMs === null ? lookOf(standing) : "stuck"} label=${stateLabel(standing)} />`;

interface BarProps {
  readonly label: string;
  readonly spent: number;
  /** Set aside for helpers and for requests under way; not spent yet. */
  readonly reserved?: number;
  readonly allowed: number;
}
export const Bar = ({ label, spent, reserved = 0, allowed }: BarProps) => {
  const share = (amount: number): number => (allowed > 0 ? Math.min(100, (amount / allowed) * 100) : 0);
  const [solid, all] = [share(spent), share(spent + reserved)];
  return html`<span class=${`bar ${solid >= 80 ? "high" : ""}`} role="meter" aria-label=${label} aria-valuemin="0"
    aria-valuemax="100" aria-valuenow=${Math.round(all)}><i style=${{ width: `${solid}%` }}></i>
    <i class="aside" style=${{ width: `${all - solid}%` }}></i></span>`;
};

export const Call = ({ command, subject }: { command: string; subject: string }) => {
  const [verb, what] = describeCall(command, subject);
  return html`<span title=${command}>${capital(verb)} ${what && html`<b>${what}</b>`}</span>`;
};
/** "Household Ledger wants to write budget.md" */
export const Wish = ({ item: { agent, name, command } }: { item: Waiting }) => {
  const [verb, what] = describeCall(command.name, subjectOf(command.args));
  return html`<a class="name" data-row href=${`#/a/${agent}/approve`}>${name}</a> wants to${" "}
    <span title=${command.name}>${verb} <b>${what}</b></span>`;
};

/** Whose words from outside were read: a person must see that before an answer. */
export const Outside = ({ item: { received, agent } }: { item: Waiting }) => {
  const source = ({ name, step }: Waiting["received"][number], at: number) =>
    html`${at > 0 && ", "}<b class="hot">${placeOf(name)}</b> in <${StepLink} of=${agent} step=${step} />`;
  if (received.length === 0) return null;
  const sources = received.slice(0, 2).map(source);
  const more = received.length > 2 && ` and ${received.length - 2} more`;
  return html`<span title="Words from outside may try to steer an agent.">It has read ${sources}${more}. </span>`;
};
/** `name`: of a source of outside words. */
export const placeOf = (name: string): string => name || "an unknown place";

export const StepLink = ({ of, step }: { of: string; step: number }) =>
  html`<a href=${`#/a/${of}/s/${step}`}>step ${step}</a>`;
export const fileLink = (agent: string, path: string): string => `#/a/${agent}/files/${encodeURIComponent(path)}`;

/** Names with their texts, without those that are empty. */
export const Pairs = ({ of }: { of: Readonly<Record<string, Children>> }) =>
  html`<dl class="pairs">
    ${Object.entries(of).map(([name, text]) => text && html`<dt>${name}</dt><dd>${text}</dd>`)}</dl>`;

export const Problem = ({ problem }: { problem: ApiError | null }) =>
  problem && html`<p class="bad problem" role="alert">${problem.message} ${problem.hint}</p>`;
export const Empty = ({ title, children }: { title: string; children?: Children }) =>
  html`<div class="empty"><h1>${title}</h1>${children}</div>`;

/** In the place of what is not loaded, or could not be. */
export const Pending = ({ problem = null }: { problem?: ApiError | null }) =>
  problem ? html`<${Problem} problem=${problem} />` : html`<p class="muted" aria-busy="true">Loading…</p>`;

interface SwitchProps {
  readonly label: string;
  readonly options: readonly string[];
  readonly chosen: string;
  readonly onChoose: (option: string) => void;
}
/** A person chooses one of a few, which stand in a line. */
export const Switch = ({ label, options, chosen, onChoose }: SwitchProps) => {
  const button = (option: string) => html`<button class="quiet small" aria-pressed=${option === chosen}
    onClick=${() => onChoose(option)}>${capital(option)}</button>`;
  return html`<span class="switch" role="group" aria-label=${label}>${options.map(button)}</span>`;
};

export const fieldText = ({ target }: Event): string => (target as HTMLInputElement).value;

interface WordsProps {
  readonly label: string;
  readonly button: string;
  /** `key`: the same for the same words until an answer has come, so that they arrive once. */
  readonly onSend: (text: string, key: string) => Promise<unknown>;
  readonly hint?: string;
  /** Enter sends; without, only with Ctrl or Cmd. */
  readonly isChat?: boolean;
  readonly mayBeEmpty?: boolean;
  readonly children?: Children;
}
/** A field for words to an agent. It is emptied when they have arrived; an error stays below it. */
export function Words({ label, button, onSend, hint = "", isChat = false, mayBeEmpty = false, children }: WordsProps) {
  const [draft, setDraft] = useState({ text: "", key: "" });
  const { text, key } = draft;
  const { run, problem, isOff } = useAction();
  const canSend = !isOff && (mayBeEmpty || text.trim() !== "");
  const send = async (event: Event): Promise<void> => {
    event.preventDefault();
    if (canSend && (await run(() => onSend(text.trim(), key))))
      setDraft((now) => (now === draft ? { text: "", key } : now));
  };
  const press = (event: KeyboardEvent): void => {
    const isSend = isChat ? !event.shiftKey && !event.isComposing : event.ctrlKey || event.metaKey;
    if (event.key === "Enter" && isSend) void send(event);
  };
  const type = (event: Event): void => setDraft({ text: fieldText(event), key: crypto.randomUUID() });
  return html`<form class="flex wrap words" onSubmit=${send}>
    <textarea class="grow" rows="1" aria-label=${label} placeholder=${`${label}…`} value=${text} data-say=${isChat}
      onInput=${type} onKeyDown=${press}></textarea>${children}
    <button class=${text.trim() && "primary"} disabled=${!canSend}>${button}</button>
    ${text && hint && html`<p class="problem muted small">${hint}</p>`}<${Problem} problem=${problem} /></form>`;
}
