/**
 * step-lines.ts -- the lines of a step's row: thoughts, command and result, each short or shortened, with the texts that are
 * too long for the row.
 */
import type { CommandCall, Observation, OpenCall } from "#core/call.ts";
import { isFurtherCall } from "#core/frames.ts";
import { THOUGHTS } from "#core/memory.ts";
import type { NewMemory } from "#core/ports/memory.ts";
import type { AgentState } from "#core/state.ts";
import { isBlobRef, oneLine, type Text } from "#core/text.ts";
import { thoughtsInReply } from "#reply/reply-thoughts.ts";
import type { CommandTexts, TextOfSource } from "./command-texts.ts";
import type { LongText } from "./cut-pieces.ts";
import { LABELS } from "./row-content.ts";

export type ReadText = (text: Text) => Promise<string>;

/** Lines of a row, and the texts of which the lines have only the beginning. */
export interface Lines {
  readonly lines: readonly string[];
  readonly texts: readonly LongText[];
}
/** Whose words a text contains. */
export type Origin = Pick<NewMemory, "trust" | "outside">;

/** Text up to `whole` characters is in the row, of longer text the first `head`. */
const THOUGHT_CHARS = { whole: 300, head: 160 };
const ARGUMENT_CHARS = { whole: 200, head: 120 };
const ARGUMENTS_CHARS = 400;
const RESULT_CHARS = { whole: 400, head: 160 };
const SOURCE_CHARS = 120;
const FILES_CHARS = 400;
const MAX_FILES = 5;

const isLong = (text: string, { whole }: { readonly whole: number }): boolean => text.trim().length > whole;
const shorten = (text: string, chars: { readonly whole: number; readonly head: number }): string =>
  oneLine(text, isLong(text, chars) ? chars.head : chars.whole);

const formatOf = (source: string, { trust }: Origin): LongText["format"] =>
  trust === "web" || /\.(?:md|markdown)$/i.test(source) ? "markdown" : "plain";

const pieced = (of: Pick<TextOfSource, "source" | "text" | "lines">, origin: Origin): LongText => {
  const { source, text, lines } = of;
  return { source, text, format: formatOf(source, origin), ...(lines ? { lines } : {}), ...origin };
};

/** Reads the model's thoughts before the call. The sentence for the onlooker is used when there are no others. */
export async function readThoughts(before: AgentState, open: OpenCall & { kind: "command" }, read: ReadText) {
  if (isFurtherCall(open.callId)) return open.thought;
  const window = before.frames.find(({ id }) => id === open.frame)?.window ?? [];
  const reply = window.findLast(({ kind, step }) => kind === "reply" && step === open.step);
  const thoughts = reply ? thoughtsInReply(await read(reply.text), reply.form) : null;
  const { text = "", reasoning = "", plan = "", criticism = "" } = thoughts ?? {};
  const said = [text, reasoning, plan, criticism].map((part) => part.trim()).filter((part) => part !== "");
  return said.length === 0 ? open.thought : [...new Set(said)].join("\n");
}

export function thoughtLines(thoughts: string, origin: Origin): Lines {
  if (thoughts.trim() === "") return { lines: [], texts: [] };
  const texts = isLong(thoughts, THOUGHT_CHARS) ? [pieced({ source: THOUGHTS, text: thoughts }, origin)] : [];
  return { lines: [LABELS.thought + shorten(thoughts, THOUGHT_CHARS)], texts };
}

/** `args`: those of the call, with long texts whole. */
export function commandLines({ name, args }: CommandCall, { argument }: CommandTexts, origin: Origin): Lines {
  const texts: LongText[] = [];
  const written = JSON.stringify(args, (key, value: unknown) => {
    if (typeof value !== "string") return value;
    const isOfSource = key === argument?.name && value === argument.text;
    if (isLong(value, ARGUMENT_CHARS))
      texts.push(pieced(isOfSource ? argument : { source: key === "" ? name : `${name} ${key}`, text: value }, origin));
    return shorten(value, ARGUMENT_CHARS);
  });
  if (written.length > ARGUMENTS_CHARS)
    texts.push(pieced({ source: name, text: written.replace(/(?<=[\]},"\d]),(?=["[{])/g, ",\n") }, origin));
  return { lines: [`${LABELS.command}${name} ${oneLine(written, ARGUMENTS_CHARS)}`], texts };
}

/** `text`: the whole text of the observation. `call`: absent when it is no longer known. */
export function resultLines(
  { status, code, artifacts }: Observation,
  text: string,
  { isConfirmed, result }: CommandTexts,
  { source, ...origin }: Origin & { readonly source: string },
): Lines {
  const label = isConfirmed ? LABELS.done : LABELS.result(code === undefined ? status : `${status}, ${code}`);
  const texts = isLong(text, RESULT_CHARS) ? [pieced(result ?? { source, text }, origin)] : [];
  const lines = [label + shorten(text, RESULT_CHARS)];
  if (artifacts.length > 0) {
    const more = artifacts.length > MAX_FILES ? ` and ${artifacts.length - MAX_FILES} more` : "";
    lines.push(`${LABELS.files}${oneLine(artifacts.slice(0, MAX_FILES).join(", "), FILES_CHARS)}${more}`);
  }
  return { lines, texts };
}

/** The source of the result of a call that is no file or page. */
export const describeCall = ({ name, args }: CommandCall): string =>
  oneLine(
    `${name} ${JSON.stringify(args, (_key, value: unknown) => (typeof value === "string" ? oneLine(value, 60) : value))}`,
    SOURCE_CHARS,
  );

export const joinLines = (...parts: readonly Lines[]): Lines => ({
  lines: parts.flatMap(({ lines }) => lines),
  texts: parts.flatMap(({ texts }) => texts),
});

/** Replaces references to long texts, at any depth. */
export async function readArguments(args: CommandCall["args"], read: ReadText): Promise<CommandCall["args"]> {
  const members = Object.entries(args).map(async ([name, value]) => [name, await readValue(value, read)] as const);
  return Object.fromEntries(await Promise.all(members));
}

async function readValue(value: unknown, read: ReadText): Promise<unknown> {
  if (typeof value !== "object" || value === null) return value;
  if (isBlobRef(value)) return read(value);
  if (Array.isArray(value)) return Promise.all(value.map((item) => readValue(item, read)));
  return readArguments(value as CommandCall["args"], read);
}
