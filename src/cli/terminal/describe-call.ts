/**
 * describe-call.ts -- a command as a person reads it before approving it. Every argument is shown by itself, so that a
 * long one cannot push another out of sight. A short call is one line of JSON. Otherwise texts are shown as text, with
 * their true size; unseen and control characters are written out.
 */
import type { CommandCall } from "#core/call.ts";
import { listSources } from "#core/provenance.ts";
import { countNoun, isBlobRef, withCommas } from "#core/text.ts";
import { escapeUnseenInJson, numberCode, showUnseen } from "#util/outside-text.ts";
import type { WaitingView } from "#views/waiting.ts";
import type { Style } from "./print.ts";

/** A question shows this many lines of code. `goald show` shows all. */
const MAX_QUESTION_LINES = 500;

/** The call, its code and the reasons, in lines. `whole`: the call that shows all of long code; default: this one does. */
export const describeApproval = (waiting: WaitingView, whole?: string): readonly string[] => [
  ...describeCall(withoutCode(waiting)).split("\n"),
  ...(waiting.code ? describeCode(waiting.code, whole === undefined ? undefined : MAX_QUESTION_LINES) : []),
  ...(waiting.reason ?? "").split("\n").filter((line) => line !== ""),
  ...describeFacts(waiting, whole),
];

/** The code is shown by itself. */
function withoutCode({ command, code }: WaitingView): WaitingView["command"] {
  if (!code || code.file !== null) return command;
  const { code: _, ...args } = command.args;
  return { ...command, args };
}

/** Lines that the call and the question in the log do not show: the rest of the code, whose words files hold, and the end. */
export const describeMore = (waiting: WaitingView, whole: string): readonly string[] => [
  ...(waiting.code && isPartly(waiting) ? describeCode(waiting.code, MAX_QUESTION_LINES) : []),
  ...describeFacts(waiting, whole),
];

const isPartly = ({ command, code }: WaitingView): boolean =>
  code?.text !== command.args.code || !isShownWhole(code?.text ?? "");

const describeFacts = ({ files, until, code }: WaitingView, whole: string | undefined): readonly string[] => [
  ...files.map(({ path, outside }) => `${JSON.stringify(path)} holds words from outside: ${listSources(outside)}.`),
  ...(until === null ? [] : [`The question expires at ${until}; the command is then rejected.`]),
  ...(whole && code && code.text.split("\n").length > MAX_QUESTION_LINES ? [`All of the code: ${whole}`] : []),
];

/** A call whose JSON is longer gets one argument per line. */
const MAX_LINE_CHARS = 200;
const MAX_TEXT_CHARS = 1_000;
const MAX_TEXT_LINES = 20;
/** A rest of so few characters is shown: the words about it would be as long. */
export const FEW_CHARS = 24;

export function describeCall({ name, args }: CommandCall): string {
  const { file, old, new: text } = args;
  if (name === "edit_file" && typeof file === "string" && typeof old === "string" && typeof text === "string") {
    const { old: _, new: __, ...rest } = args;
    return [
      name,
      ...Object.entries(rest).flatMap(([key, value]) => describeArgument(key, value)),
      ...describeEdit(old, text),
    ].join("\n");
  }
  const line = `${name} ${escapeUnseenInJson(JSON.stringify(args))}`;
  if (line.length <= MAX_LINE_CHARS && !Object.values(args).some(isLongText)) return line;
  return [name, ...Object.entries(args).flatMap(([key, value]) => describeArgument(key, value))].join("\n");
}

/** The lines that an edit takes away and puts there. Lines at both ends that are the same are left out. */
function describeEdit(old: string, text: string): readonly string[] {
  const [before, after] = [old, text].map((each) => showUnseen(headOfText(each)).split("\n")) as [string[], string[]];
  const isSame = (from: number): boolean => before.at(from) === after.at(from);
  const most = Math.min(before.length, after.length);
  const isWhole = isShownWhole(old) && isShownWhole(text) && old !== text;
  let start = 0;
  while (isWhole && start < most && isSame(start)) start += 1;
  let end = 0;
  while (isWhole && end < most - start && isSame(-1 - end)) end += 1;
  const sizes = [old, text].map((each) => withCommas(Buffer.byteLength(each)));
  return [
    `  ${sizes[0]} bytes become ${sizes[1]}:`,
    ...before.slice(start, before.length - end).map((line) => `    - ${line}`),
    ...moreOf(old, "-"),
    ...after.slice(start, after.length - end).map((line) => `    + ${line}`),
    ...moreOf(text, "+"),
  ];
}

function moreOf(text: string, sign: "-" | "+"): readonly string[] {
  const left = Buffer.byteLength(text) - Buffer.byteLength(headOfText(text));
  return left === 0 ? [] : [`    ${sign} … ${withCommas(left)} more bytes`];
}

export function styleOfDiff(line: string): Style | undefined {
  if (/^\s{4,}- |^-(?!--)/.test(line)) return "red";
  if (/^\s{4,}\+ |^\+(?!\+\+)/.test(line)) return "green";
  if (line.startsWith("@@")) return "cyan";
  return /^(?:---|\+\+\+) /.test(line) ? "bold" : undefined;
}

/** True when `describeCall` shows this argument from its beginning to its end. */
const isShownWhole = (text: string): boolean => headOfText(text) === text;

/** True for texts that one line of JSON would make unreadable. */
const isLongText = (value: unknown): boolean =>
  isBlobRef(value) || (typeof value === "string" && value.trimEnd().includes("\n"));

function describeArgument(key: string, value: unknown): readonly string[] {
  const name = escapeUnseenInJson(JSON.stringify(key)).slice(1, -1);
  const text = isBlobRef(value) ? value.head : typeof value === "string" ? value : undefined;
  const json = isBlobRef(value) ? "" : escapeUnseenInJson(JSON.stringify(value));
  if (text === undefined || (!isBlobRef(value) && !isLongText(value) && json.length <= MAX_LINE_CHARS))
    return [`  ${name}: ${json.length <= MAX_TEXT_CHARS ? json : describeCut(json)}`];
  const bytes = isBlobRef(value) ? value.bytes : Buffer.byteLength(text);
  const shown = headOfText(text);
  const left = bytes - Buffer.byteLength(shown);
  return [
    `  ${name} (${withCommas(bytes)} bytes):`,
    ...showUnseen(shown)
      .replace(/\n$/, "")
      .split("\n")
      .map((line) => `    | ${line}`),
    ...(left > 0 ? [`    … ${withCommas(left)} more bytes`] : []),
  ];
}

/** For long lists: the JSON's beginning and its whole length. */
const describeCut = (json: string): string =>
  `${json.slice(0, MAX_TEXT_CHARS).toWellFormed()} … (${withCommas(json.length)} characters)`;

/** The beginning that is shown: whole lines where they are short enough. */
function headOfText(text: string): string {
  const lines = text.slice(0, MAX_TEXT_CHARS).split("\n");
  const head = lines.slice(0, MAX_TEXT_LINES).join("\n");
  const isCut = text.length - head.length > FEW_CHARS;
  // A surrogate pair is not cut in two: its halves would count as bytes that are not there.
  return isCut ? head.replace(/[\ud800-\udbff]$/, "") : text;
}

/** `maxLines`: further lines are counted, not shown. */
export function describeCode(
  { file, sha256, text }: NonNullable<WaitingView["code"]>,
  maxLines = Number.POSITIVE_INFINITY,
): readonly string[] {
  const name = file === null ? "" : ` of ${JSON.stringify(file)}`;
  if (file !== null && sha256 === null) return [`The code${name} could not be read, so it will not be run.`];
  const lines = numberCode(text);
  const shown = lines.slice(0, maxLines);
  const hash = sha256 === null ? "" : `, sha256 ${sha256.slice(0, 12)}`;
  return [
    `The code that would run${name} (Python, ${countNoun(lines.length, "line")}${hash}):`,
    ...shown.map((line) => `  ${line}`),
    ...(lines.length > shown.length ? [`  … ${countNoun(lines.length - shown.length, "more line")}`] : []),
  ];
}
