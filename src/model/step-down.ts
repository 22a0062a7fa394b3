/**
 * step-down.ts -- which part of a request a server refuses, by its own words, and how to ask without it. Pure.
 *
 * A part is looked for only when it was in the request, in the server's sentence and its `param`, never in the echo of a
 * request that some servers add. Words that name nothing may still mean one of these parts: that is `unnamed`.
 */
import type { OutputMode } from "#core/event.ts";
import { errorWords } from "./error-words.ts";

type OptionalPart = "stream" | "stream_options" | "temperature";

/** The kind of request that a server accepts for one model. */
export interface ServerTerms {
  readonly mode: OutputMode;
  /** Parts of a request that the server rejects. */
  readonly without: readonly OptionalPart[];
  /** True if the server requires user and assistant messages to alternate. */
  readonly turns: boolean;
  /** Maximum of prompt and reply together, in goald's token estimate. Null if unknown. */
  readonly contextTokens: number | null;
}

/** What a request had in it that not every server takes. */
export interface Sent {
  readonly mode: OutputMode;
  readonly stream: boolean;
  readonly streamOptions: boolean;
  readonly temperature: boolean;
  readonly turns: boolean;
  /** Nothing of it. */
  readonly isBare: boolean;
}

export interface Refusal {
  readonly status: number;
  readonly body: string;
}

export type StepDown =
  | { readonly kind: "change"; readonly terms: ServerTerms }
  | { readonly kind: "unnamed" }
  | { readonly kind: "none" };

/** Statuses with which servers refuse a parameter; 500 comes from those that break on one. */
const REFUSING: ReadonlySet<number> = new Set([400, 404, 405, 415, 422, 500, 501]);
/** With these a request may be refused for a part that is not named. */
const UNNAMED: ReadonlySet<number> = new Set([400, 422]);

const FORMAT =
  /response[_ ]?format|json[_ ]?(schema|object|mode)|structured[_ ]output|guided|grammar|requested parameters/i;
/** It is the schema that is refused; JSON itself may be taken. */
const SCHEMA = /json[_ ]?schema|\bschema\b|\bstrict\b|too many states|grammar|guided/i;
const TURNS = /roles? must alternate|must alternate|alternat\w+ (between )?(user|roles)|consecutive (user|messages)/i;
const ORDER: readonly OutputMode[] = ["plain", "json_object", "json_schema"];

export function stepDown(terms: ServerTerms, sent: Sent, { status, body }: Refusal): StepDown {
  if (!REFUSING.has(status)) return { kind: "none" };
  const words = errorWords(body);
  if (!sent.turns && TURNS.test(words)) return change({ ...terms, turns: true });
  if (sent.streamOptions && /stream_options|include_usage/i.test(words))
    return change(lacking(terms, "stream_options"));
  if (sent.mode !== "plain" && FORMAT.test(words))
    return change({ ...terms, mode: lower(terms.mode, modeBelow(sent, words)) });
  if (status === 500) return { kind: "none" };
  if (sent.stream && /\bstream(s|ed|ing)?\b/i.test(words)) return change(lacking(terms, "stream"));
  if (sent.temperature && /\btemperature\b/i.test(words)) return change(lacking(terms, "temperature"));
  return UNNAMED.has(status) ? { kind: "unnamed" } : { kind: "none" };
}

const change = (terms: ServerTerms): StepDown => ({ kind: "change", terms });

const lacking = (terms: ServerTerms, part: OptionalPart): ServerTerms =>
  terms.without.includes(part) ? terms : { ...terms, without: [...terms.without, part] };

const modeBelow = ({ mode }: Sent, words: string): OutputMode =>
  mode === "json_schema" && SCHEMA.test(words) ? "json_object" : "plain";

/** Another agent's request may have learned more meanwhile. */
const lower = (one: OutputMode, other: OutputMode): OutputMode =>
  ORDER.indexOf(one) < ORDER.indexOf(other) ? one : other;
