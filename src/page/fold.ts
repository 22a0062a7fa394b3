/** fold.ts -- the live part of an agent: the reply that arrives, and what happened between its steps. Pure. */
import type { Delta, LogEvent } from "./types.ts";
import { decode, textOf } from "./words.ts";

/** An event beside the steps: words of a person, a pause, a turn. */
export interface Note extends Pick<LogEvent, "seq" | "at"> {
  readonly look: "says" | "paused" | "running" | "done";
  readonly text: string;
}
export interface Tail {
  readonly head: number;
  /** Null while no reply arrives. */
  readonly live: Omit<Delta, "from"> | null;
  /** When the agent began what it does now; null when that is unknown. */
  readonly since: string | null;
  readonly notes: readonly Note[];
}
export const EMPTY_TAIL: Tail = { head: 0, live: null, since: null, notes: [] };

export function foldEvent(tail: Tail, event: LogEvent): Tail {
  if (event.seq <= tail.head) return tail;
  const next = { ...tail, head: event.seq };
  if (event.frame !== 0) return next;
  const live = /^model-(asked|failed|replied)$/.test(event.type) ? null : tail.live;
  const since = /^(model|command)-/.test(event.type) ? event.at : tail.since;
  const notes = notesOf(event);
  return { ...next, live, since, notes: notes.length > 0 ? [...tail.notes, ...notes] : tail.notes };
}

function notesOf(event: LogEvent): readonly Note[] {
  const { seq, at } = event;
  const note = (look: Note["look"], text: string): readonly Note[] => [{ seq, at, look, text }];
  if (event.type === "message-received") return note("says", `${event.from}: ${textOf(event.text)}`);
  if (event.type === "agent-paused") return note("paused", event.reason);
  if (event.type === "agent-resumed") return note("running", "Resumed");
  if (event.type === "turn-started") return note("running", `Turn ${event.turn}`);
  return event.type === "turn-finished" ? note("done", "Reported its goals as reached") : [];
}

/** A piece that does not follow what is known is left out: the next request begins anew. */
export function foldDelta(tail: Tail, { seq, from, text }: Delta): Tail {
  const before = tail.live?.seq === seq ? tail.live.text : "";
  return from > before.length ? tail : { ...tail, live: { seq, text: before.slice(0, from) + text } };
}

export function foldMessage(tail: Tail, { event, data }: { event: string; data: unknown }): Tail {
  if (event === "delta") return foldDelta(tail, data as Delta);
  return event === "message" ? foldEvent(tail, data as LogEvent) : tail;
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
