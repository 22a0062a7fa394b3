/** words.ts -- numbers, times, states and commands in words for people. Pure. */
import type { Agent } from "./types.ts";

type Standing = Agent["standing"];

const { format: dollars } = new Intl.NumberFormat("en", { style: "currency", currency: "USD" });
/** An amount below a cent has one figure that is not zero. */
export const money = (usd: number): string => (usd === 0 || usd >= 0.01 ? dollars(usd) : `$${usd.toPrecision(1)}`);
/** Costs of one step are small: three decimals, or one figure. */
export const cents = (usd: number): string => (usd < 0.001 ? money(usd) : `$${usd.toFixed(usd < 0.1 ? 3 : 2)}`);
export const { format: compact } = new Intl.NumberFormat("en", { notation: "compact", maximumFractionDigits: 1 });
export const counted = (count: number, noun: string): string => `${count} ${noun}${count === 1 ? "" : "s"}`;
export const capital = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1);

export const size = (bytes: number): string => compact(bytes).replace("B", "G").replace(/\D?$/, " $&B");

export function span(ms: number): string {
  const seconds = Math.max(0, ms) / 1_000;
  if (seconds < 0.95) return `${Math.round(seconds * 1_000)} ms`;
  if (seconds < 9.95) return `${seconds.toFixed(1)} s`;
  if (seconds < 60) return `${Math.round(seconds)} s`;
  if (seconds < 3_600) return `${Math.floor(seconds / 60)} min`;
  if (seconds < 86_400) return `${Math.floor(seconds / 3_600)} h ${Math.floor((seconds % 3_600) / 60)} min`;
  return `${Math.floor(seconds / 86_400)} d`;
}
/** The time of day, with the day when that is not today. */
export function clockOf(at: string): string {
  const [date, now] = [new Date(at), new Date()];
  const day = date.toDateString() === now.toDateString() ? {} : ({ day: "numeric", month: "short" } as const);
  return date.toLocaleString([], { ...day, hour: "2-digit", minute: "2-digit", hourCycle: "h23" });
}
/** A time that counts on the screen: without decimals. */
export const sinceWords = (ms: number): string => (ms < 950 ? "now" : span(ms).replace(/\.\d s$/, " s"));

/** By which a state is drawn and sorted. */
export const LOOKS = ["running", "waits", "paused", "asks", "stuck", "done", "over"] as const;
export type Look = (typeof LOOKS)[number];

export function lookOf({ kind, cause }: Standing): Look {
  if (kind === "waiting") return cause === "approval" || cause === "person" ? "asks" : "waits";
  if (kind === "paused") return cause === "person" || cause === "parent" ? "paused" : "stuck";
  if (kind === "over") return cause === "completed" ? "done" : "over";
  return kind === "running" ? "running" : "stuck";
}

const WAITS = { approval: "your approval", person: "your answer", agent: "its helpers" };
/** The state as the end of a sentence about the agent. */
export function stateWords({ kind, cause }: Standing): string {
  const words = cause.replaceAll("-", " ");
  if (kind === "waiting") return `waits for ${WAITS[cause as keyof typeof WAITS] ?? `the ${words}`}`;
  if (/^budget$|-limit$/.test(cause)) return `has reached its ${words}`;
  return kind === "over" ? `is ${cause}` : cause === "" || cause === "person" ? `is ${kind}` : `is ${kind}: ${words}`;
}
/** What `read` makes of a text, by default a part of an address; unchanged when it is none. */
export function decode(text: string, read: (text: string) => string = decodeURIComponent): string {
  try {
    return read(text);
  } catch {
    return text;
  }
}

export const stateLabel = (standing: Standing): string => stateWords(standing).replace(/^(is|has) /, "");

/** Commands whose names do not say well what they do. */
const VERBS = { ask_user: "ask you", google: "search for", task_complete: "finish" };
/** Commands whose arguments are no name. */
const NAMELESS = ["run_code", "ask_user", "task_complete", "think"];

/** `subject`: the command's first text argument. */
export function describeCall(command: string, subject: string): readonly [verb: string, subject: string] {
  const named = NAMELESS.includes(command) ? "" : showHidden(subject.replace(/^https?:\/\//, ""));
  // The subject says that it is a file.
  const verb = command.replace(/_(files?|website|repository)$/, "").replaceAll("_", " ");
  return [VERBS[command as keyof typeof VERBS] ?? verb, named];
}
/** What a whole command acts on, as `describeCall` takes it. */
export function subjectOf(args: Readonly<Record<string, unknown>>): string {
  const given = args.file ?? args.url ?? Object.values(args).find((value) => typeof value === "string") ?? "";
  return String(given).split("\n")[0] ?? "";
}

/** `name`: of a source of outside words. */
export const placeOf = (name: string): string => name || "an unknown place";
export const placesOf = (sources: readonly { readonly name: string }[]): string =>
  sources.map(({ name }) => placeOf(name)).join(", ");

const HIDDEN = /[\p{Cf}\p{Cc}\p{Zl}\p{Zp}\p{DI}\u2800]|(?! )\p{Zs}/gu;
/** Shows characters that cannot be seen, or that turn the order of others, as their numbers. */
export const showHidden = (text: string): string =>
  text.replace(HIDDEN, (sign) =>
    /[\t\n]/.test(sign) ? sign : `⟨U+${sign.codePointAt(0)?.toString(16).toUpperCase()}⟩`,
  );

/** A text that is missing from the store comes as an object with its beginning. */
export function textOf(value: unknown): string {
  if (typeof value === "string") return value;
  const { head } = Object(value) as { head?: unknown };
  return typeof head === "string" ? `${head}…` : JSON.stringify(value, null, 1);
}
