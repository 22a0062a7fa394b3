/**
 * split-action.ts -- splits a reply in prose into its thought and its code.
 *
 * In the form `react` the code is in the first ACTION, in a fence or not; in the form `code` it is the first block that names
 * Python, else the first one that names nothing. Reasoning before the reply is dropped. A fence within
 * a text of several lines belongs to the text: code often writes Markdown. Below a line RESULT: is the answer, whose fences are
 * text; code above that line comes first, because no answer was known when it was written.
 */
import type { ActionForm } from "#core/state.ts";
import { findReasoningEnd } from "./find-objects.ts";

export interface SplitAction {
  /** The prose before the code, without headings; all of it when there is no code. */
  readonly thought: string;
  /** Null: the reply has no code. */
  readonly code: string | null;
  /** The text below the line RESULT:, without blanks around it. Null: there is no such line, or code above it. */
  readonly result: string | null;
  /** The reply up to the end of the code, without the reasoning. */
  readonly shown: string;
  /** False when the end of the code is missing. */
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

const PYTHON = /^(?:python|py|python3|ipython)$/;
/** A model that writes one of these wants it run. Blocks in other languages are text. */
const FOREIGN = /^(?:bash|sh|shell|zsh|console|terminal|powershell|ps1|cmd|bat|javascript|js|typescript|ts|mjs|node)$/;

export function splitAction(text: string, form: ActionForm): SplitAction {
  const begin = findReasoningEnd(text);
  const reply = begin < 0 ? "" : text.slice(begin).replaceAll("\r\n", "\n");
  const heading = findResult(reply);
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

function findResult(reply: string): RegExpExecArray | undefined {
  const blocks = findBlocks(reply);
  return [...reply.matchAll(RESULT)].find(
    ({ index }) => !blocks.some(({ start, end }) => index > start && index < end),
  );
}

function splitCode(reply: string): Split {
  const blocks = findBlocks(reply);
  const able = blocks.filter(({ name }) => name === "python" || name === "");
  const chosen = able.find(({ name }) => name === "python") ?? able[0];
  const foreign = blocks.find(({ name }) => FOREIGN.test(name))?.name ?? "";
  if (!chosen) return { ...withoutCode(reply), foreign };
  return {
    ...fromBlock(chosen),
    thought: reply.slice(0, chosen.start).trim(),
    shown: reply.slice(0, chosen.end).trim(),
    others: able.filter(({ start }) => start > chosen.start).length,
  };
}

/** Blanks are bounded, so that a search takes linear time. */
const HEADING =
  /^[ \t>]{0,20}(?:#{1,6}[ \t]{0,5}|\*{1,2})?(thought|action|observation)[ \t]{0,5}\d{0,6}[ \t]{0,5}(?:\*{1,2})?[ \t]{0,5}:(?:\*{1,2})?[ \t]{0,20}/gim;

interface Part {
  readonly name: string;
  readonly text: string;
  readonly end: number;
}

function splitReact(reply: string): Split {
  const parts = splitAtHeadings(reply);
  const actions = parts.filter(({ name }) => name === "action");
  const [action] = actions;
  if (!action) {
    // Without headings the form is that of prose with a block.
    const split = splitCode(reply);
    return { ...split, thought: dropHeadings(split.thought) };
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
  const code = action.text.trim();
  return { ...withoutCode(reply), thought, code: code === "" ? null : code, others };
}

function splitAtHeadings(reply: string): readonly Part[] {
  const blocks = findBlocks(reply);
  const isOutside = (place: number): boolean => !blocks.some(({ start, end }) => place > start && place < end);
  const headings = [...reply.matchAll(HEADING)].filter(({ index }) => isOutside(index));
  const first = { name: "thought", text: reply.slice(0, headings[0]?.index ?? reply.length), end: 0 };
  return [
    first,
    ...headings.map((heading, place): Part => {
      const end = headings[place + 1]?.index ?? reply.length;
      const [whole, name = ""] = heading;
      return { name: name.toLowerCase(), text: reply.slice(heading.index + whole.length, end), end };
    }),
  ];
}

const dropHeadings = (text: string): string => text.replace(HEADING, "").trim();

const withoutCode = (reply: string): Split => ({
  thought: reply.trim(),
  code: null,
  shown: reply.trim(),
  isClosed: true,
  others: 0,
  foreign: "",
});

const fromBlock = ({ code, isClosed }: Block) => ({ code, isClosed, foreign: "" });

/** Each may be the end of a long block, which is then scanned. */
const MAX_FENCES = 200;
const FENCE = /^([ \t]{0,40})(`{3,}|~{3,})[ \t]{0,5}([^\s`{]{0,40})[^\n`]*$/gm;

function findBlocks(reply: string): readonly Block[] {
  const fences = [...reply.matchAll(FENCE)].slice(0, MAX_FENCES);
  const blocks: Block[] = [];
  let place = 0;
  while (place < fences.length) {
    const opening = fences[place] as RegExpExecArray;
    const [line, indent = "", marks = "", named = ""] = opening;
    const name = PYTHON.test(named.toLowerCase()) ? "python" : named.toLowerCase();
    const codeStart = opening.index + line.length + 1;
    const ends = fences.slice(place + 1).filter(([, , own = "", other = ""]) => other === "" && own.startsWith(marks));
    const isText = ({ index }: RegExpExecArray): boolean =>
      name === "python" && endsInsideText(reply.slice(codeStart, index));
    const closing = ends.find((each) => !isText(each));
    const codeEnd = closing?.index ?? reply.length;
    const code = dedent(reply.slice(codeStart, codeEnd).replace(/\n$/, ""), indent);
    const end = closing ? closing.index + closing[0].length : reply.length;
    blocks.push({ name, start: opening.index, end, code, isClosed: closing !== undefined });
    place = closing ? fences.indexOf(closing) + 1 : fences.length;
  }
  return blocks;
}

/** Removes the indentation of the fence from each line, as Markdown does. */
const dedent = (code: string, indent: string): string =>
  indent === ""
    ? code
    : code
        .split("\n")
        .map((line) => (line.startsWith(indent) ? line.slice(indent.length) : line))
        .join("\n");

const TEXTS = /#[^\n]*|"""|'''|(["'])(?:\\[\s\S]|(?!\1)[^\n])*\1?/g;

/** True when Python ends within a text of several lines: what follows is a part of it, even if it looks like a fence. */
function endsInsideText(code: string): boolean {
  const pattern = new RegExp(TEXTS);
  for (let found = pattern.exec(code); found; found = pattern.exec(code)) {
    const [mark] = found;
    if (mark !== '"""' && mark !== "'''") continue;
    const end = findLongEnd(code, pattern.lastIndex, mark);
    if (end === undefined) return true;
    pattern.lastIndex = end + mark.length;
  }
  return false;
}

function findLongEnd(code: string, from: number, mark: string): number | undefined {
  for (let place = from; place < code.length; place++) {
    if (code[place] === "\\") place++;
    else if (code.startsWith(mark, place)) return place;
  }
  return undefined;
}
