/**
 * split-action.ts -- splits a reply in prose into its thought and its code.
 *
 * In the form `react` the code is in the first ACTION, in a fence or not; in the form `code` it is the first block that
 * names Python, else the first one that names nothing. Reasoning before the reply is dropped. A fence within a text of
 * several lines belongs to the text: code often writes Markdown. Below a line RESULT: is the answer, whose fences are
 * text; code above that line comes first, because no answer was known when it was written.
 */
import type { ActionForm } from "#core/state.ts";
import { findCallEnd } from "./json.ts";
import { findContent, findReasoningEnd, isQuoted } from "./json-objects.ts";

export interface SplitAction {
  /** The prose before the code, without headings; all of it when there is no code. */
  readonly thought: string;
  /** Null: the reply has no code. */
  readonly code: string | null;
  /** The text below the line RESULT:, without blanks around it. Null: there is no such line, or code above it. */
  readonly result: string | null;
  /** The reply up to the end of the code, without the reasoning. */
  readonly shown: string;
  /** False when the end of the code may be missing. */
  readonly isClosed: boolean;
  /** Number of further actions, or blocks of code. */
  readonly others: number;
  /** The name of a block that asks to run and cannot, when there is no other one; else empty. */
  readonly foreign: string;
  /** The reply ends within its reasoning. */
  readonly isOnlyReasoning: boolean;
}

interface Block {
  /** As the reply names it, in small letters; `python` for each name of Python. */
  readonly name: string;
  readonly start: number;
  readonly end: number;
  readonly code: string;
  readonly isClosed: boolean;
}

/** Gemma's `tool_code` is Python. */
const PYTHON = /^(?:(?:python|py)[\d.]*|ipython|tool_code|run_code)$/;
/** A model that writes one of these wants it run. Blocks in other languages are text. */
const FOREIGN = /^(?:bash|sh|shell|zsh|console|terminal|powershell|ps1|cmd|bat|javascript|js|typescript|ts|mjs|node)$/;

export function splitAction(text: string, form: ActionForm): SplitAction {
  const begin = findReasoningEnd(text);
  const reply = begin < 0 ? "" : text.slice(begin).replace(/\r(?=\n)|^[\u200b\ufeff]+/g, "");
  const [heading] = findOutsideBlocks(reply, RESULT);
  const above = heading ? reply.slice(0, heading.index) : reply;
  const split = form === "react" ? splitReact(above) : splitCode(above);
  const whole = { ...split, result: null, isOnlyReasoning: begin < 0 };
  if (!heading || split.code !== null) return whole;
  const result = reply.slice(heading.index + heading[0].length).trim();
  return { ...whole, result, foreign: "", shown: reply.trim() };
}

type Split = Omit<SplitAction, "isOnlyReasoning" | "result">;

/** In capital letters only, and outside blocks: prose and code have lines about results too. */
const RESULT = /^[ \t>]{0,20}(?:#{1,6}[ \t]{1,5})?(?:\*{1,2})?RESULT[ \t]{0,5}(?:\*{1,2})?:(?:\*{1,2})?/gm;

function findOutsideBlocks(reply: string, pattern: RegExp): readonly RegExpExecArray[] {
  const blocks = findBlocks(reply);
  const isOutside = ({ index }: RegExpExecArray) => !blocks.some(({ start, end }) => index > start && index < end);
  return [...reply.matchAll(pattern).filter(isOutside).take(MAX_FENCES)];
}

function splitCode(reply: string): Split {
  const content = findContent(reply, false, () => false);
  const isOwn = ({ start, end }: Block): boolean =>
    !content.some((each) => each.start <= start && end <= each.end) && !isQuoted(reply, start, end);
  const blocks = findBlocks(reply).filter(isOwn);
  const able = blocks.filter(({ name }) => name === "python" || name === "");
  const chosen = able.find(({ name }) => name === "python") ?? able[0];
  const foreign = blocks.find(({ name }) => FOREIGN.test(name))?.name ?? "";
  if (!chosen) return { ...withoutCode(reply), foreign };
  const { code, isClosed, start, end } = chosen;
  return {
    ...withoutCode(""),
    code,
    isClosed,
    thought: reply.slice(0, start).trim(),
    shown: reply.slice(0, end).trim(),
    others: able.filter(({ start }) => start > chosen.start).length,
  };
}

/** Blanks are bounded, so that a search takes linear time. */
const HEADING =
  /^[ \t>]{0,20}(?:#{1,6}[ \t]{0,5}|\*{1,2})?(thought|action|observation)[ \t]{0,5}\d{0,6}[ \t]{0,5}(?:\*{1,2})?[ \t]{0,5}:(?:\*{1,2})?[ \t]{0,20}/gim;

function splitReact(reply: string): Split {
  const parts = splitAtHeadings(reply);
  const actions = parts.filter(({ name }) => name === "action");
  const [action] = actions;
  if (!action) {
    // Without headings the form is that of prose with a block.
    const split = splitCode(reply);
    return { ...split, thought: split.thought.replace(HEADING, "").trim() };
  }
  const before = parts.slice(0, parts.indexOf(action)).filter(({ name }) => name !== "observation");
  const thought = before
    .map(({ text }) => text.trim())
    .join("\n")
    .trim();
  const inside = splitCode(action.text);
  const others = inside.others + actions.length - 1;
  if (inside.code !== null || inside.foreign !== "")
    return { ...inside, thought: [thought, inside.thought].filter((part) => part !== "").join("\n"), others };
  const text = action.text.trim().replace(/^`([^`\n]+)`$/, "$1");
  const code = text === "" || NOT_PYTHON.test(text) ? null : text;
  return { ...withoutCode(reply), thought, code, isClosed: action !== parts.at(-1), others };
}

/** An action in another notation: a tag, an object or a fence of another language, or LangChain's two lines. */
const NOT_PYTHON = /^[<{`&]|^[^\n]*\n[ \t]*action[ _]input[ \t]*:/i;

function splitAtHeadings(reply: string) {
  const headings = findOutsideBlocks(reply, HEADING);
  const first = { name: "thought", text: reply.slice(0, headings[0]?.index ?? reply.length) };
  return [
    first,
    ...headings.map((heading, place) => {
      const end = headings[place + 1]?.index ?? reply.length;
      const [whole, name = ""] = heading;
      return { name: name.toLowerCase(), text: reply.slice(heading.index + whole.length, end) };
    }),
  ];
}

const withoutCode = (reply: string): Split => ({
  thought: reply.trim(),
  code: null,
  shown: reply.trim(),
  isClosed: true,
  others: 0,
  foreign: "",
});

/** Each may be the end of a long block, which is then scanned. Also of headings. */
const MAX_FENCES = 200;
/** Some models escape the backticks. */
const FENCE = /^([ \t]{0,40})(`{3,}|~{3,}|(?:\\`){3,})[ \t]{0,5}([^\s`{]{0,40})([^\n`]*)$/gm;
/** Behind a closing fence: nothing, or a tag or mark such as `<|im_end|>`. */
const END = /^$|^</;

/** Blocks that do not begin with an object, and are not named after JSON: their objects are a part of something else. */
export const findFilledBlocks = (reply: string): readonly Block[] =>
  findBlocks(reply).filter(
    ({ name, code }) =>
      /^(?:log|stdout|https?|diff|toml|sql|csv)$/.test(name) ||
      (!/^json\w?$/.test(name) && !/^\s*(?:$|[{<"'`(~]|\[\s*[[{]|\/\/)/.test(code)),
  );

function findBlocks(reply: string): readonly Block[] {
  const fences = [...reply.matchAll(FENCE).take(MAX_FENCES)];
  const blocks: Block[] = [];
  let place = 0;
  while (place < fences.length) {
    const opening = fences[place] as RegExpExecArray;
    const [line, indent = "", marks = "", named = "", rest = ""] = opening;
    const name = PYTHON.test(named.toLowerCase()) ? "python" : named.toLowerCase();
    const [, , inner, innerName = ""] = fences[place + 1] ?? [];
    if (name === "" && inner === marks && PYTHON.test(innerName.toLowerCase())) {
      // It ends a block that began within a line, or is around the block of Python.
      place += 1;
      continue;
    }
    const codeStart = opening.index + line.length + 1;
    const ends = fences
      .slice(place + 1)
      .filter(([, , own = "", other = ""]) => END.test(other) && own.startsWith(marks));
    const isText = ({ index }: RegExpExecArray): boolean =>
      name === "python" && endsInsideText(reply.slice(codeStart, index));
    const closing = ends.find((each) => !isText(each));
    const codeEnd = closing?.index ?? reply.length;
    // Code may begin beside the name, and a missing end may be in the last line.
    const code = (/\w\(| = |^ import /.test(rest) ? `${rest.trim()}\n` : "") + reply.slice(codeStart, codeEnd);
    const end = closing ? closing.index + closing[0].length : reply.length;
    const whole = code.replace(closing ? /\n$/ : /\n$|[ \t]*`{3,}\s*$/, "");
    // As Markdown does.
    const dedented = indent === "" ? whole : whole.replace(new RegExp(`^${indent}`, "gm"), "");
    blocks.push({ name, start: opening.index, end, code: dedented, isClosed: closing !== undefined });
    place = closing ? fences.indexOf(closing) + 1 : fences.length;
  }
  return blocks;
}

/** A comment, or a text, which may lack its end. */
const PYTHON_TEXTS =
  /#[^\n]*|(?<prefix>(?<![\p{L}\p{N}_])[rbuf]{1,2})?(?:(?<long>"""|''')(?<lines>(?:\\[\s\S]|(?!\k<long>)[^\\])*)(?<end>\k<long>)?|(?<mark>["'])(?<line>(?:\\[\s\S]|(?!\k<mark>)[^\\\n])*)\k<mark>?)/giu;

/** True when Python ends within a text of several lines: what follows is a part of it, even if it looks like a fence. */
const endsInsideText = (code: string): boolean =>
  code.matchAll(PYTHON_TEXTS).some(({ groups }) => groups?.long !== undefined && groups.end === undefined);

const CALL = /(?<![.\p{L}\p{N}_])([\p{L}_][\p{L}\p{N}_]*)[ \t]*\(/gu;
const NUMBER = String.raw`(?:\d[\d_]*(?:\.[\d_]*)?|\.\d[\d_]*)`;
/** Between signs, so that it is no part of a computation or a comparison. A text is the number of its value. */
const VALUE = new RegExp(
  String.raw`(?<=(?:[(,[{:]|(?<![=!<>])=)\s*[-+]?)(?:(${NUMBER})|"(\d+)")(?=\s*(?:[),\]}]|$))`,
  "g",
);
const INDEX = /(?<=[\p{L}\p{N}_)\]"])\[[^[\]]*\]/gu;
const NUMBERS_OF_NAMES = new RegExp(
  String.raw`^[ \t]*[\p{L}_][\p{L}\p{N}_, \t]*=([ \t]*[-+]?${NUMBER}(?:[ \t]*,[ \t]*[-+]?${NUMBER})*)[ \t]*$`,
  "gmu",
);

/**
 * Finds in the Python of an action which functions it calls, and which values the model may have made up. Returns a
 * name for each call of one of the `functions`, in order, and the specific values, each once. The scan is shallow,
 * looks at one action only, and favours silence: a wrong remark costs the model a step. A value counts when it is given
 * to a function, or a number to a name, and is specific: a number that is neither small nor round, or one word with a
 * digit or a sign of an address. A part of a computation, an index and a key do not count.
 */
export function findUses(code: string, functions: ReadonlySet<string>) {
  const texts: string[] = [];
  const plain = code.replace(PYTHON_TEXTS, (...found) => {
    const { prefix = "", lines, line } = found.at(-1) as Readonly<Record<string, string | undefined>>;
    const text = lines ?? line;
    if (text === undefined) return "";
    const isWhole = !/[bf]/i.test(prefix) || (/f/i.test(prefix) && !/[{}]/.test(text));
    return isWhole ? `"${texts.push(text.replace(/\\(.)/g, "$1")) - 1}"` : '"-"';
  });
  const calls = [...plain.matchAll(CALL)].filter(
    ([, name = ""], at, { [at]: found }) =>
      functions.has(name) && !/\b(?:def|class)[ \t]+$/.test(plain.slice(0, found?.index).slice(-12)),
  );
  const given = calls.flatMap(({ index, 0: { length } }) => {
    const inside = plain.slice(index + length - 1, findCallEnd(plain, index + length)).replace(INDEX, "");
    return [...inside.matchAll(VALUE)].map(([, number, text]) => number ?? texts[Number(text)] ?? "");
  });
  const named = [...plain.matchAll(NUMBERS_OF_NAMES)].flatMap(
    ([, list = ""]) => list.match(new RegExp(NUMBER, "g")) ?? [],
  );
  const isSpecific = (value: string): boolean => (isNumber(value) ? isSpecificNumber(value) : isSpecificWord(value));
  return {
    calls: calls.map(([, name = ""]) => name),
    values: [...new Set([...named, ...given].filter(isSpecific))],
  };
}

const isNumber = (value: string): boolean => /^[\d_]*\.?[\d_]*$/.test(value);

/** Numbers of units, such as days of a year or seconds of an hour. */
const UNIT_NUMBERS: ReadonlySet<number> = new Set([180, 360, 365, 366, 1_024, 3_600, 86_400]);
const LEAST_INTEGER = 100;

function isSpecificNumber(text: string): boolean {
  const value = Number(text.replaceAll("_", ""));
  if (Number.isInteger(value))
    return value >= LEAST_INTEGER && !/^\d0*$/.test(String(value)) && !UNIT_NUMBERS.has(value);
  return !Number.isInteger(value * 10) && !Number.isInteger(value * 4);
}

const FILE_NAME = /^[\w./-]*\w\.(?:md|txt|csv|tsv|json|html?|xml|py|js|pdf|png|jpe?g|svg|gif|webp)$/i;

const isSpecificWord = (text: string): boolean =>
  /^\S{3,}$/.test(text) && /[\d@#]|\/\//.test(text) && !FILE_NAME.test(text);

/** Whether a text has the value, word for word. Letters may differ in case, numbers in how thousands are set apart. */
export function isInText(value: string, text: string): boolean {
  if (!isNumber(value)) return isWordIn(value, text);
  const number = Number(value.replaceAll("_", ""));
  const written = [String(number), ...(number < 1 ? [`${Number((number * 100).toFixed(6))}%`] : [])];
  const plain = text.replace(/(?<=\d)[,_'\u00a0\u202f](?=\d{3}(?!\d))/g, "");
  return written.some((each) => new RegExp(`(?<!\\d)${each.replaceAll(".", "\\.")}(?:\\.?0+)?(?!\\.?\\d)`).test(plain));
}

function isWordIn(word: string, text: string): boolean {
  const shown = text.toLowerCase();
  const small = word.toLowerCase();
  return shown.includes(small) || shown.includes(small.replace(/^[#@]/, ""));
}
