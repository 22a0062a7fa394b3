/**
 * json-objects.ts -- finds the JSON objects of a reply that are outside its reasoning. One pass, aware of strings and
 * comments, splits the reply into plain text and balanced objects. Fences, prose and chat marks count as plain text: no
 * pattern looks for ```, since arguments may contain fences. Time is linear.
 */
import { jsonrepair } from "jsonrepair";
import { MAX_JSON_DEPTH } from "#core/command.ts";
import { orUndefined } from "#core/errors.ts";
import {
  findCallEnd,
  findCommentEnd,
  findConflictingKey,
  findStringEnd,
  hasDoubtfulEscape,
  isTooDeep,
  parseShallowJson,
  pythonToJson,
} from "./json.ts";

const BLANK = /[\s\u0000\u0085\u200b-\u200d\u2060\ufeff]/;

/**
 * Removes wrappers of the whole reply: byte order marks, blanks, up to three layers of JSON string, and `>` before
 * every line, unless a call without thoughts is quoted so. Adds a missing outer brace. A reply longer than `maxChars` is only trimmed.
 */
export function unwrapReply(text: string, maxChars: number): string {
  let reply = trimBlank(text);
  if (reply.length > maxChars) return reply;
  reply = unwrapStrings(reply);
  if (!/^[^>\n]/m.test(reply) && !isBareCall(reply)) reply = reply.replace(/^> ?/gm, "").trim();
  return /^(?:["'](?:thoughts|command)["']?|(?:thoughts|command)["'])\s{0,50}:/i.test(reply) ? `{${reply}` : reply;
}

const isBareCall = (reply: string): boolean =>
  /"(?:command|action|name|tool)"/.test(reply) && !reply.includes("thoughts");

function unwrapStrings(text: string, layers = 3): string {
  const inner = layers > 0 && text.startsWith('"') ? parseShallowJson(text) : undefined;
  return typeof inner === "string" ? unwrapStrings(trimBlank(inner), layers - 1) : text;
}

function trimBlank(text: string): string {
  let start = 0;
  let end = text.length;
  while (start < end && BLANK.test(text[start] as string)) start++;
  while (end > start && BLANK.test(text[end - 1] as string)) end--;
  return text.slice(start, end);
}

const MAX_OBJECTS = 50;

export interface ReplyObject {
  readonly start: number;
  /** Exclusive. */
  readonly end: number;
  /** True when the brackets of the object balance outside its strings. */
  readonly closed: boolean;
}

/**
 * Finds the objects of the reply from `from` on that are outside of reasoning blocks: a draft there is not an answer.
 * Marks inside objects are ignored, since they belong to an argument. A closing mark without an opening drops all objects
 * before it. `unclosed`: a reasoning block never closed, so the text after its opening is not an answer.
 */
export function findObjects(text: string, from: number) {
  let objects: ReplyObject[] = [];
  let count = 0;
  let open = 0;
  let textStart = from;
  const readMarks = (textEnd: number): void => {
    for (const mark of text.slice(textStart, textEnd).matchAll(MARK)) {
      if (mark.groups?.open !== undefined) open++;
      else if (open > 0) open--;
      else objects = [];
    }
  };
  OBJECT_START.lastIndex = from;
  for (let found = OBJECT_START.exec(text); found; found = OBJECT_START.exec(text)) {
    const start = found.index;
    readMarks(start);
    const { end, closed, tooDeep } = findObjectEnd(text, start);
    if (tooDeep) return { fault: "tooDeep" } as const;
    if (++count > MAX_OBJECTS) return { fault: "tooManyObjects" } as const;
    if (open === 0) objects.push({ start, end, closed });
    textStart = end;
    OBJECT_START.lastIndex = end;
  }
  readMarks(text.length);
  return { objects, unclosed: open > 0, fault: null };
}

/** A brace, or a bracket before a brace: a list without objects cannot be a reply. */
const OBJECT_START = /\{|\[[ \n\r\t]{0,39}\{/g;

function findObjectEnd(text: string, start: number) {
  let depth = 0;
  let last = "";
  for (let at = start; at < text.length; at++) {
    const char = text[at] as string;
    if (char === '"' || (char === "'" && "{[,:(".includes(last))) {
      at = findQuotedEnd(text, at);
      last = char;
      continue;
    }
    const skipped = findCommentEnd(text, at);
    if (skipped > at) {
      at = skipped - 1;
      continue;
    }
    if (char === "{" || char === "[") depth++;
    else if (char === "}" || char === "]") depth--;
    if (depth > MAX_JSON_DEPTH) return { end: text.length, closed: false, tooDeep: true };
    if (depth === 0) return { end: at + 1, closed: true, tooDeep: false };
    if (char > " ") last = char;
  }
  return { end: text.length, closed: false, tooDeep: false };
}

/** Like `findStringEnd`, but a single quote ends the string only where JSON syntax may follow. */
function findQuotedEnd(text: string, start: number): number {
  if (text[start] === '"') return findStringEnd(text, start);
  for (let at = start + 1; at < text.length; at++) {
    if (text[at] === "\\") at++;
    else if (text[at] === "'" && /^\s{0,24}(?:[,:}\])]|$)/.test(text.slice(at + 1, at + 26))) return at;
  }
  return text.length;
}

const NAME =
  "(?:[a-z]{1,9}:|ant|longcat_|inner_|internal_)?(?:think(?:ing)?|thoughts?|chain_of_thought|cot|reasoning|reflection|scratch_?pad|analysis|planning|(?:tool|function)_(?:response|result|output)s?|observation|examples?|monologue)(?:_process|_content)?";
/**
 * Forms: tags with a vendor's prefix (`<seed:think>`, `<antThinking>`), bars, square brackets, channels. An argument of a call
 * in XML, or of Gemma or LangChain, counts as reasoning: an object in it is its content.
 */
const OPEN = [
  `<${NAME}(?:\\s[^<>]{0,200})?>`,
  `<[|｜](?:(?:begin|start)[_▁](?:of[_▁])?)?${NAME}[|｜]>`,
  "<[^<>\\s/]{0,9}(?:parameter[=\\s][^<>]{0,200}|arg_value)>|\\[tool_results\\]|<｜tool▁outputs?▁begin｜>|<\\|inner_prefix\\|>|\\[think\\]|◁think▷|\\|startthink\\||<\\|channel\\|?>\\s?(?:analysis|thought)|<(?:unused|ctrl)94>|\\bcall:\\w+(?=\\{|$)|\\naction input:(?=.{0,200}\\w)",
  // The harmony format without its special tokens, which some servers drop.
  "^analysis(?=[a-z])",
].join("|");
const CLOSE = [
  `</${NAME}\\s{0,9}>`,
  `<[|｜](?:/|end[_▁](?:of[_▁])?)${NAME}[|｜]>`,
  "</[^<>\\s/]{0,9}(?:parameter|arg_value)>|\\[/tool_results\\]|<｜tool▁outputs?▁end｜>|<\\|inner_suffix\\|>|\\[/think\\]|◁/think▷|\\|endthink\\||<\\|channel\\|>\\s?(?:final|commentary)(?:[ \\w|<>]{0,40}<\\|message\\|>)?|<channel\\|>|<(?:unused|ctrl)95>|assistantfinal",
].join("|");
const MARK = new RegExp(`(?<open>${OPEN})|(?:${CLOSE})`, "gi");
const OPENING = new RegExp(OPEN, "i");

/** Checks for an opening mark anywhere in the text. */
export const opensReasoning = (text: string): boolean => OPENING.test(text);

/** Elements and keys of such names hold what the reply itself states: an answer or a call. */
export const ANSWER =
  /^(?:[a-z]+:)?(?:(?:final|next|my|current|chosen|selected|structured|step|turn|move|choice|decision|operation|agent|assistant|ai|llm|model|answer|reply|response|result|output|message|object|root|data|json|xml|inst|(?:ant)?artifact|ability|code|python|execute|ipython|run|do|perform|invoke|command|action|tool|function|call|use)s?[_-]?)+$|^[\w-]{0,40}gpt$|^(?:html|body|pre|p|div|span|b|strong|em|i|details|summary)$/i;
/** An element, a key or a label of such a name marks a text that the reply does not state itself. */
export const NOT_NOW =
  /(?:^|[^a-z])(?:(?:counter-?)?examples?|e\.g\.|drafts?|rejected|not|never|alternatives?|failed|denied|plan|error|analysis|observation|thinking|reasoning|sample|template|format|previous|earlier|last|later|yesterday|history|old|bad|wrong|invalid|incorrect|forbidden|ignore|avoid|skip|cancell?ed|quoted?|user|human|system|request|input|file|contents?|notes?|(?:tool|function|command|action|search)[_ ]?(?:response|result|output)s?)(?:$|[^a-z])/i;
const TAG = /[<[](?=([^\s<>[\]=/"'!{(]{1,40}))[^<>[\]]{1,240}(?<!\/)[>\]]/g;
const CLOSING_TAG = /[<[]\/[^\s<>[\]=/"'!{(]{1,40}/g;
const MAX_TAGS = 200;
const CALLED = /\b(\w{1,80})\(/g;

/** Comments, struck text, changes of files, here-documents, texts in YAML and turns of others, to their end or to that of the reply. */
const HOLDERS: readonly RegExp[] = [
  ["<!--", "-->"],
  ["(?<!~)~~(?=[^~]+~~(?!~))", "~~"],
  ["^\\*{3} Begin Patch", "\\n\\*{3} End Patch"],
  ["^<{5,9} [A-Z]", "\\n>>>>>"],
  ["^(?:@@ -|\\+{3} )", "\\n\\n"],
  ["(?<!<)<<[-~]?(?:[ \\t]?[\"']|(?=[A-Z]))(?<word>\\w{2,20})[\"']?(?=[ \\t]*(?:$|[>|;&]))", "\\n\\k<word>"],
  ["^(?:\\$ )?(?:cat|tee|python3?|(?:ba)?sh|node)\\b[^\\n<]*<<[-~]? ?(?<word>[a-z]\\w{1,19})\\b", "\\n\\k<word>"],
  [":[ \\t]?[|>][-+\\d]{0,2}$", "\\n\\n"],
  [
    "<\\|(?:(?:im_)?start\\w*\\|>(?:user|tool|ipython|functions)\\b|(?:user|observation)\\|>)",
    "<\\|(?:im_|start|assis)",
  ],
].map(([opening, end]) => new RegExp(`(?:${opening})[^]*?(?:${end}|(?![^]))`, "gm"));

/**
 * Returns the parts of the reply that are no statements of its own: what an element holds whose tag names a command, such as
 * `<read_file>` or `<invoke name="read_file">`, or is not `ANSWER`, the arguments of `read_file(…)`, and what `HOLDERS` match.
 * The end of an element or call may be missing where it begins a line, and from a reply that was cut off; else it is prose.
 */
export function findContent(text: string, isCut: boolean, isName: (name: string) => boolean) {
  const isCommand = (tag: string): boolean => tag.match(/[\w-]+/g)?.some(isName) === true;
  const holds = (tag: string, name: string): boolean => !ANSWER.test(name) || NOT_NOW.test(tag) || isCommand(tag);
  const tags = [...text.matchAll(TAG).take(MAX_TAGS)].filter(([tag, name = ""]) => holds(tag, name));
  const calls = [...text.matchAll(CALLED).take(MAX_TAGS)].filter(([, name = ""]) => isName(name));
  /** By closing tag, last one first. */
  const ends = new Map(tags.map(([tag, name]) => [`${tag[0]}/${name}`, [] as number[]]));
  for (const { 0: closing, index } of text.matchAll(CLOSING_TAG)) ends.get(closing)?.push(index);
  for (const each of ends.values()) each.reverse();
  const elements = [...tags, ...calls].flatMap(({ 0: opening, 1: name, index }) => {
    const start = index + opening.length;
    const later = ends.get(`${opening[0]}/${name}`) ?? [];
    while ((later.at(-1) ?? start) < start) later.pop();
    const end = opening.endsWith("(") ? findCallEnd(text, start) : later.at(-1);
    const isOpen = (isCut || /^\n?$/.test(text.charAt(index - 1))) && isCommand(opening);
    return end !== undefined || isOpen ? [{ start, end: end ?? text.length }] : [];
  });
  const holders = HOLDERS.flatMap((holder) => [...text.matchAll(holder).take(MAX_TAGS)]);
  return [...elements, ...holders.map(({ 0: held, index: start }) => ({ start, end: start + held.length }))];
}

const LAST_SENTENCE = /(?:[^.!?\n{}<>\]]|[.!?](?=\S)|(?<=\b(?:e\.g|i\.e|vs))\.)*$/i;
/** At most three words before a colon, or one alone. "In JSON format:" and "Writing notes.md:" name nothing. */
const LABEL =
  /^(?!(?:in|as|per|according|selon|según|laut|now|one|last step|(?!quot|warn)\w+ing)\b)(?:(?:\S+\s+){0,2}\S*[:：]\W*|\S+)$/i;
/** Such words before a call make it an example, a quotation, the text of a file, a question or nothing to run. */
const QUOTING = new RegExp(
  [
    "\\b(?:for|an|par|zum) (?:example|exemple|beispiel)\\b|例如|不要|^like this one\\W*$",
    "^/[/*]$|^before\\W*$|^(?:\\W*(?:file\\W+)?|(?:```|~~~).*)[\\w./-]+\\.\\w{1,5}\\W*$",
    "^(?!.*\\b(?:what|whether|if|how)\\b).*\\b(?:instead of|rather than|such as|contents? of \\S+|considered|caused by|this failed|(?:asks|tells|wants) (?:me|you|us)|(?:says?|said|reads|instructs|wrote|contains?|returned|has|ran|sent|i used|was))(?: to \\w+)?(?: this)?\\W*$",
    "(?:\\b(?:cannot|not|never|nicht|refuse to)|n['’]t) (?:run|send|use|call|do|execute|write|ausf)\\p{L}*(?: (?:this|it|that))?\\W*$",
    "^\\W*(?:should|shall|may|can) (?:i|we)\\b",
  ].join("|"),
  "iu",
);
/** Such words behind a call take it back, or ask for a yes. */
const TAKEN_BACK =
  /^[\s`~]*(?:wait[,.]? (?:no|that)\b|scratch that|(?:this|that) (?:is|was) (?:just|only) an example|(?:do not|don['’]t) (?:run|execute|send) (?:this|it|that)|(?:should|shall|may) i (?:proceed|go ahead|(?:run|do|send) (?:this|it|that)))\b/i;
/** The line of a call begins as one of a transcript, a log, a comment or a shell does. */
const MARKED_LINE =
  /(?:^|\n)[ \t]*(?:\[(?:user|human|system|tool|observation|ipython)\]:? |(?:user|human|observation|ipython)> |\[?(?:\d{4}-\d\d-\d\d|\d\d:\d\d:\d\d)[^\n]*|(?:\$|#|--) [^\n]*)[ \t]*$/i;

/**
 * Whether the call in this stretch of the reply is a part of a sentence or of a text in quotes, or is quoted by what leads up to it: a
 * mark of its line, an unfinished sentence, or a label of at most three words. A finished sentence says nothing about it.
 */
export function isQuoted(reply: string, start: number, end: number): boolean {
  const near = reply.slice(Math.max(0, start - 200), start);
  const after = reply.slice(end, end + 50);
  if (/\S \S[^\n]* \p{L}+,? [`(]*$|\p{L}[^\n]*["']$/u.test(near) || /^[`)]*(?:\?| [a-z])/.test(after)) return true;
  if (MARKED_LINE.test(near) || TAKEN_BACK.test(after)) return true;
  // The name of a command is no label.
  const lead = near.replace(/\s*(?:(?:```|~~~)\w*[ \t]*\n?)?$/, "").replace(/\w+_\w+/g, "");
  const sentence = LAST_SENTENCE.exec(lead)?.[0].trim() ?? "";
  return QUOTING.test(sentence) || (LABEL.test(sentence) && NOT_NOW.test(sentence));
}

/** Returns the end of a reasoning block that precedes every bracket, else 0: braces in that block need not balance. */
export function findLeadingReasoningEnd(text: string): number {
  const end = findMarkedEnd(text, (_, before) => /[{[]/.test(before));
  return Math.max(0, end);
}

/**
 * Returns the end of the reasoning that a reply in prose begins with, else 0; -1 when it does not end. A closing mark without
 * an opening ends reasoning too, unless it is in a block of code, or in a line behind a quote.
 */
export const findReasoningEnd = (text: string): number =>
  findMarkedEnd(text, (mark, before) =>
    mark.groups?.open === undefined ? endsInBlock(before) || isInQuotes(text, mark) : !beginsReasoning(mark[0], before),
  );

/** `isContent`: whether a mark outside of reasoning, with the text before it, belongs to the reply proper. */
function findMarkedEnd(text: string, isContent: (mark: RegExpExecArray, before: string) => boolean): number {
  let open = 0;
  let end = 0;
  for (const mark of text.matchAll(MARK)) {
    const before = text.slice(end, mark.index);
    const opens = mark.groups?.open !== undefined;
    // An empty block may come first.
    if (open === 0 && (end > 0 ? !opens || before.trim() !== "" : isContent(mark, before))) return end;
    open = Math.max(0, open + (opens ? 1 : -1));
    if (open === 0) end = mark.index + mark[0].length;
  }
  return open > 0 ? -1 : end;
}

/** Thoughts begin the reply, or a line below prose without a block or an answer. */
const beginsReasoning = (mark: string, before: string): boolean =>
  /^(?:<\|\w+\|>\w*)?$/.test(before.trim()) ||
  (/think|thought/i.test(mark) && /\n[ \t]*$/.test(before) && !/```|~~~|RESULT/.test(before));
const endsInBlock = (text: string): boolean => (text.match(/^[ \t]*(?:```|~~~)/gm)?.length ?? 0) % 2 === 1;
const isInQuotes = (text: string, { index, 0: { length } }: RegExpExecArray): boolean =>
  /["']/.test(text.charAt(index - 1)) && /[^\n]/.test(text.charAt(index + length));

/** True for a reply without any text after its reasoning. */
export function isOnlyReasoning(text: string): boolean {
  const end = findReasoningEnd(text);
  return end < 0 || text.slice(end).trim() === "";
}

/** Characters times quotes of the text given to jsonrepair; at most about 0.2 s. */
export const MAX_GUESS_WORK = 200_000_000;
/** A longer object is read only if nothing but its spelling is wrong. */
export const MAX_DAMAGED_CHARS = 100_000;

export interface ParsedObject {
  readonly kind: "parsed";
  readonly value: unknown;
  /** The strict JSON text that `value` was parsed from. */
  readonly json: string;
  /** strict: as sent. clear: only the spelling was mended. guessed: the content may have changed. */
  readonly trust: "strict" | "clear" | "guessed";
  /** Characters of the source that were read. */
  readonly length: number;
  /** False when the source ends before the closing bracket of the object. */
  readonly isWhole: boolean;
  /** The source with mended spelling, before missing text was completed. */
  readonly written: string;
}
export interface UnparsedObject {
  readonly kind: "unparsed";
  readonly reason: "tooDeep" | "tooDamaged" | "cutOff" | "ellipsis" | "brokenSyntax";
}

/** Remaining cost of guesses in one reply. */
type RepairBudget = { guessWork: number };

/**
 * Parses one object of a reply with the least repair that works. Order: strict JSON; a Python literal; a spelling pass
 * that changes no content; jsonrepair, which guesses. Each result carries its trust. jsonrepair is recursive, and
 * quadratic in unescaped quotes (200 kB took 20 s), so a budget for one whole reply caps the product of characters and
 * quotes.
 */
export function parseObject(source: string, budget: RepairBudget): ParsedObject | UnparsedObject {
  if (isTooDeep(source)) return { kind: "unparsed", reason: "tooDeep" };
  const clear = parseClearly(source);
  if ("kind" in clear) return clear;
  const { text: written, end: length, isCut, isOpen, hasEllipsis } = clear;
  if (hasEllipsis) return { kind: "unparsed", reason: "ellipsis" };
  const json = guessJson(source, budget) ?? "";
  const value = parseShallowJson(json);
  if (value === undefined) return { kind: "unparsed", reason: reasonOf(source, isCut) };
  return { kind: "parsed", value, json, trust: "guessed", length, isWhole: !isOpen, written };
}

function reasonOf(source: string, isCut: boolean): UnparsedObject["reason"] {
  if (source.length > MAX_DAMAGED_CHARS) return "tooDamaged";
  // Behind a closing bracket a string is open because a quote is missing.
  return isCut && !/[}\]]\s{0,50}$/.test(source.slice(-60)) ? "cutOff" : "brokenSyntax";
}

/** Without a guess. Returns the object with mended spelling when that is no JSON either. */
export function parseClearly(source: string): ParsedObject | ReturnType<typeof mendSpelling> {
  const whole = { kind: "parsed", length: source.length, isWhole: true, written: source } as const;
  const strict = parseShallowJson(source);
  if (strict !== undefined) return { ...whole, value: strict, json: source, trust: "strict" };
  const literal = pythonToJson(source) ?? "";
  const read = parseShallowJson(literal);
  if (read !== undefined) return { ...whole, value: read, json: literal, trust: "clear" };
  const spelled = mendSpelling(source);
  const json = spelled.text + spelled.owed;
  const value = spelled.isCut || spelled.isDoubtful ? undefined : parseShallowJson(json);
  if (value === undefined) return spelled;
  const { end: length, isOpen, text: written } = spelled;
  return { kind: "parsed", value, json, trust: "clear", length, isWhole: !isOpen, written };
}

const CLOSING: Readonly<Record<string, string>> = { "{": "}", "[": "]" };

/**
 * Mends the spelling of the object that begins the source, in one pass: in strings, control characters and backslashes that begin
 * no escape are escaped; outside of them comments, unusual blanks and commas before a closing bracket go. A string ends at its first
 * quote that is not escaped.
 */
function mendSpelling(source: string) {
  const out: string[] = [];
  const open: string[] = [];
  let at = 0;
  let last = "";
  /** A backslash may begin an escape or be meant as it is. */
  let isDoubtful = false;
  /** `...` replaces a value. */
  let hasEllipsis = false;
  let isInString = false;
  do {
    const char = source[at] as string;
    const afterComment = findCommentEnd(source, at);
    if (afterComment > at) {
      at = afterComment;
      continue;
    }
    const start = at;
    at = char === '"' ? findStringEnd(source, start) + 1 : start + 1;
    if (char > " ") last = (last + char).slice(-4);
    if (char === '"') {
      isInString = at > source.length;
      const string = source.slice(start, at);
      isDoubtful ||= hasDoubtfulEscape(string);
      out.push(mendString(string));
    } else if (char !== "," || !/^\s*[}\]]/.test(source.slice(at, at + 1_001))) {
      if (CLOSING[char]) open.push(CLOSING[char]);
      else if (char === "}" || char === "]") isDoubtful ||= open.pop() !== char;
      hasEllipsis ||= /[:,](?:…|\.{3})$/.test(last);
      out.push(BLANK.test(char) ? " " : char);
    }
  } while (open.length > 0 && at < source.length);
  const isOpen = open.length > 0;
  const text = out.join("");
  /** The source ends inside a string, a word or a number. */
  const isCut = isInString || (isOpen && /[\w.+-]$/.test(text));
  // `end` is an exclusive index in the source, `owed` has the missing closing brackets in closing order.
  return {
    text,
    end: Math.min(at, source.length),
    owed: open.reverse().join(""),
    isOpen,
    isCut,
    isDoubtful,
    hasEllipsis,
  };
}

const mendString = (string: string): string =>
  string.replace(/\\u[\da-fA-F]{4}|\\["\\/bfnrt]|[\\\p{Cc}]/gu, (found) =>
    found === "\\" ? "\\\\" : found < " " ? JSON.stringify(found).slice(1, -1) : found,
  );

/** Refuses escapes that JSON does not define: jsonrepair drops their backslashes. */
function guessJson(text: string, budget: RepairBudget): string | undefined {
  if (text.length > MAX_DAMAGED_CHARS || /\\(?:[^"\\/bfnrtu]|$)/.test(text)) return undefined;
  budget.guessWork -= text.length * text.split('"').length;
  // It throws a JSONRepairError, or a RangeError from its recursion.
  return budget.guessWork < 0 ? undefined : orUndefined(() => jsonrepair(text));
}

type NestedObject =
  | { readonly kind: "value"; readonly value: unknown }
  | { readonly kind: "twice"; readonly key: string };

/**
 * Parses a string of the reply that holds exactly one object, such as the arguments of a tool call. Null when it does not.
 * Spelling may be mended; nothing is guessed.
 */
export function parseNested(text: string): NestedObject | null {
  const source = unwrapStrings(text.trim());
  if (!source.startsWith("{")) return null;
  const parsed = parseClearly(source);
  if (!("kind" in parsed) || !parsed.isWhole || parsed.length !== source.length) return null;
  const key = findConflictingKey(parsed.json);
  return key === null ? { kind: "value", value: parsed.value } : { kind: "twice", key };
}
