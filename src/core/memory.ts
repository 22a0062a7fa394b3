/** memory.ts -- rules about memory rows that several rooms share. */
import type { EventOf } from "./event.ts";
import type { MemoryChange, MemoryKind, MemoryRow, RecalledRow, Trust } from "./ports/memory.ts";
import type { OutsideSource } from "./provenance.ts";
import { oneLine } from "./text.ts";

/** In the order in which an index counts them: new ones come last. */
export const MEMORY_KINDS = [
  "step",
  "turn",
  "fact",
  "note",
  "file_chunk",
  "reflection",
  "piece",
  "forgetting",
] as const satisfies readonly MemoryKind[];
export const TRUSTS = ["person", "agent", "goald", "file", "web"] as const satisfies readonly Trust[];

/** Lines of a file from 1. */
export interface LineRange {
  readonly first: number;
  readonly last: number;
  /** Number of lines of the whole file. */
  readonly all: number;
}

/** Place among the pieces of one text, from 1. */
export interface PieceNumber {
  readonly number: number;
  readonly count: number;
}

/** Source of the pieces that hold what the agent thought. */
export const THOUGHTS = "thoughts";

const HEAD = /^(.{1,300}), (?:lines (\d+) to (\d+) of (\d+)|piece \d+ of \d+):\n/;

/**
 * Writes a piece, a memory that holds a part of a long text: a line with its place, then the part.
 *   notes.md, lines 12 to 40 of 300:
 *   The first line of the part …
 * `source`: one line of at most 300 characters.
 */
export const formatPiece = (source: string, place: LineRange | PieceNumber, part: string): string =>
  "first" in place
    ? `${source}, lines ${place.first} to ${place.last} of ${place.all}:\n${part}`
    : `${source}, piece ${place.number} of ${place.count}:\n${part}`;

/**
 * True for a piece that a newer text of its source replaces. `lines`: the lines of the source that the newer text has; absent:
 * it has all.
 */
export function isReplacedPiece(text: string, lines: LineRange | undefined): boolean {
  if (!lines) return true;
  const [, , first, last] = HEAD.exec(text) ?? [];
  return Number(first) > lines.all || (Number(first) <= lines.last && Number(last) >= lines.first);
}

/** Returns the part with the source of a piece, without its place. */
export function dropPiecePlace(text: string): string {
  const [head = "", source = ""] = HEAD.exec(text) ?? [];
  const part = text.slice(head.length);
  return source === "" || source === THOUGHTS ? part : `${source}\n${part}`;
}

/**
 * A fact that an agent notes with `remember`. The text of its row is the only place of the words, so that a person who
 * forgets the row erases them.
 */
interface Fact {
  readonly subject: string;
  readonly attribute: string;
  readonly value: string;
}

/** `MemoryRow.importance` of a fact: as much as the closing words of a turn. */
export const FACT_IMPORTANCE = 0.8;
/** Maximum characters of a subject or an attribute. */
const MAX_NAME_CHARS = 200;
const MAX_VALUE_CHARS = 2_000;
/** Between the parts of the text. A subject and an attribute never contain it. */
const BETWEEN = ": ";

/** The fact as one line: "Depot: opening hour: 7". `parseFact` reads it. */
export function formatFact({ subject, attribute, value }: Fact): string {
  return [toName(subject), toName(attribute), oneLine(value, MAX_VALUE_CHARS)].join(BETWEEN);
}

/** Returns undefined for a text that `formatFact` has not written. */
export function parseFact(text: string): Fact | undefined {
  const [subject, attribute, ...value] = text.split(BETWEEN);
  if (!subject || !attribute || value.length === 0) return undefined;
  return { subject, attribute, value: value.join(BETWEEN) };
}

/** The fact `wrong` with another value. `given` is the value or the whole fact. Undefined when `wrong` is not a fact. */
export function correctFact(wrong: string, given: string): string | undefined {
  const [fact, whole] = [parseFact(wrong), parseFact(given)];
  if (!fact) return undefined;
  const isWhole = whole !== undefined && identifyFact(whole) === identifyFact(fact);
  return formatFact({ ...fact, value: isWhole ? whole.value : given });
}

const toName = (text: string): string =>
  oneLine(text, MAX_NAME_CHARS)
    .replaceAll(/:(?= )/g, ",")
    .replace(/[\s:.,;]+$/, "");

/**
 * Equal for facts about the same thing, different for others. Facts are about the same thing when subject and attribute
 * differ only in case, accents, white space, hyphens between letters and a leading article. Empty when the subject or
 * the attribute has no letter or digit.
 */
export function identifyFact({ subject, attribute }: Pick<Fact, "subject" | "attribute">): string {
  const names = [foldName(subject), foldName(attribute)];
  return names.every((name) => /[\p{L}\p{N}]/u.test(name)) ? JSON.stringify(names) : "";
}

/** Keeps punctuation at digits: 1.2 is not 12. */
const foldName = (text: string): string =>
  toName(text)
    .normalize("NFKD")
    .replaceAll(/\p{M}/gu, "")
    .toLowerCase()
    .replaceAll(/(?<=\p{L})[-_‐‑](?=\p{L})/gu, " ")
    .replace(/^(?:the|an|a) (?=\S)/, "");

/** Whether two values are the same text, apart from case and white space. */
export const isSameValue = (one: string, other: string): boolean => foldValue(one) === foldValue(other);

const foldValue = (text: string): string => oneLine(text, MAX_VALUE_CHARS).normalize("NFKC").toLowerCase();

/** The agent's own memory, as commands use it. */
export interface MemoryBook {
  /** Finds the facts about a subject and attribute. Throws GOALD_MEMORY when they have no letter or digit. */
  findFact(fact: Pick<Fact, "subject" | "attribute">): Promise<KnownFact>;
  /** Finds a row that the agent may replace or hide. `id`: as recalls show it. Throws GOALD_MEMORY with the reason for any other. */
  findOwn(id: string): Promise<MemoryRow>;
}

interface KnownFact {
  /** `MemoryRow.factKey` of facts about this. */
  readonly key: string;
  /** The agent's newest fact about it, when it can be recalled. */
  readonly holds?: MemoryRow;
  /** The agent's newest fact about it, when a person has corrected it, and the person's row. */
  readonly corrected?: { readonly row: MemoryRow; readonly by: MemoryRow };
}

const WHOSE: Readonly<Record<Exclude<Trust, "agent">, string>> = {
  person: "the words of a person",
  goald: "the words of goald",
  file: "a file that a person provided",
  web: "a text from the web",
};

/**
 * Returns why the agent may not replace or hide the row, as a sentence; undefined when it may, because it left the row
 * itself and no person has pinned it. An agent may have read text from outside, so its changes must cost a person
 * nothing: a row that it replaces or hides is no longer recalled, but its text stays for people.
 */
export function refuseMemoryChange(id: string, row: MemoryRow | undefined, agent: string): string | undefined {
  const namespace = namespaceOf(id);
  if (namespace !== agent)
    return `The memory ${id} belongs to ${namespace === "" ? "nobody" : namespace}. You can change your own memories only, such as ${agent}/12.`;
  if (!row) return `There is no memory ${id}. Recalled memories begin with their id, such as [${agent}/12, step 9].`;
  if (row.forgotten !== null) return `The memory ${id} was forgotten already.`;
  if (row.kind === "forgetting") return `The memory ${id} only hides ${row.supersedes}.`;
  if (row.supersededBy !== null) return `The memory ${id} is never recalled again: ${row.supersededBy} came after it.`;
  if (row.trust !== "agent")
    return `The memory ${id} has ${WHOSE[row.trust]}. You can change only what you noted yourself.`;
  if (row.step === null) return `The memory ${id} was added by a person. You can change only what you noted yourself.`;
  if (row.pinned) return `A person has pinned the memory ${id}, so only a person can change it.`;
  return undefined;
}

/** Returns the whole id of a memory as models write it: "[foo/12.1, step 9", "foo/12.1" or "12.1". */
export function readMemoryId(written: string, agent: string): string {
  const id = /[^\s[\]|,"'`]+/.exec(written)?.[0] ?? "";
  return id.includes("/") ? id : `${agent}/${id}`;
}

/** The namespace that all agents of a home read; never an agent's id. */
export const SHARED_MEMORY = "shared";

/** The namespace in a memory's id: an agent's id, or SHARED_MEMORY. */
export const namespaceOf = (id: string): string => id.slice(0, Math.max(0, id.lastIndexOf("/")));

/** Orders the rows of one memory as they came. Rows that people added (`+n`) come before those of steps. */
export function orderOf(id: string): number {
  const [, seq = "0", of = "0", added] = /\/(?:(\d+)(?:\.(\d+))?|\+(\d+))$/.exec(id) ?? [];
  return Number(seq) * ROWS_PER_EVENT + Number(added ?? of);
}
const ROWS_PER_EVENT = 2 ** 20;

/** Ids of all rows that a prompt showed: its recalls, and the rows shown with them. */
export const shownIds = ({ recallIds, shown = [] }: Pick<EventOf<"model-asked">, "recallIds" | "shown">): string[] => [
  ...new Set([
    ...recallIds,
    ...shown.flatMap((recall) => [...(recall.with ?? []).map(({ id }) => id), ...(recall.series ?? [])]),
  ]),
];

/** True for rows that may be recalled: neither forgotten nor superseded, and not only a mark that hides another row. */
export const isLive = (row: Pick<MemoryRow, "kind" | "forgotten" | "supersededBy">): boolean =>
  row.forgotten === null && row.supersededBy === null && row.kind !== "forgetting";

/** A closed fact that a person has pinned counts as one that holds, because an agent cannot overrule a person. */
export const isPast = ({ closed, pinned }: Pick<MemoryRow, "closed" | "pinned">): boolean =>
  closed !== undefined && !pinned;

/** True for a person's wish to forget: the text and all that was made from it have to go. */
export const isForgetting = (change: MemoryChange): boolean => change.op === "forget" && change.by === "person";

/**
 * Sources of the outside words that an agent receives with this row. A row of another namespace may contain text from the web
 * or from other agents. `trustedSeq`: the event up to which a person trusts the agent's own words.
 */
export function sourcesOfRecall(
  { id, trust, outside = [], seq = Number.POSITIVE_INFINITY }: Pick<RecalledRow, "id" | "trust" | "outside" | "seq">,
  agent: string,
  trustedSeq = 0,
): readonly OutsideSource[] {
  const namespace = namespaceOf(id);
  if (namespace === agent && seq < trustedSeq) return [];
  if (trust === "agent" && namespace !== agent) return [{ from: "agent", name: namespace }, ...outside];
  return trust === "web" && outside.length === 0 ? [{ from: "web", name: "" }] : outside;
}

const NUMBER = /\d+(?:[.,:]\d+)*/g;

/**
 * The text without its numbers, in one case and with single blanks. Equal for rows of one series: texts that differ
 * only in their numbers.
 */
export const formOfSeries = (text: string): string =>
  text.toLowerCase().replace(NUMBER, "#").replace(/\s+/g, " ").trim();

export const numbersIn = (text: string): readonly string[] => text.match(NUMBER) ?? [];

/** Returns the numbers of each text, as `numbersIn` gives them, that are not the same in all. The texts must have one form. */
export function changingNumbers(numbers: readonly (readonly string[])[]): readonly (readonly string[])[] {
  const [first = []] = numbers;
  const changes = first.map((number, at) => numbers.some((others) => others[at] !== number));
  return numbers.map((own) => own.filter((_number, at) => changes[at]));
}

/** Rows in which more numbers change are not a series of values. */
const MAX_CHANGING_NUMBERS = 6;

/** Whether texts of one form, given by their numbers, differ in few enough of them to be listed as a series. */
export const isSeries = (numbers: readonly (readonly string[])[]): boolean =>
  (changingNumbers(numbers)[0] ?? []).length <= MAX_CHANGING_NUMBERS;

/**
 * The rule by which two rows of memory say the same: one of these is equal. A person's correction and a person's wish
 * to forget act on every such row, so the rule never joins rows that say something else: one other word is enough. Rows
 * that are only alike are listed for the person (`compareWords`).
 */
export interface Statement {
  /** The whole text; case, white space and the ends of sentences do not count. */
  readonly whole: string;
  /**
   * The command of a step's row, its arguments and its result, with the numbers and negations of the thought. The other words of
   * the thought do not count. null for other rows.
   */
  readonly act: string | null;
}

export function statementOf(text: string): Statement {
  const { thought, act } = partsOf(text);
  if (act === null) return { whole: normalize(text), act: null };
  const marks = wordsOf(normalize(thought).replace(COUNTED_STEP, " ")).filter(
    (word) => /\p{N}/u.test(word) || NEGATIONS.has(word),
  );
  return { whole: normalize(text), act: [...new Set(marks)].sort().join(" ").concat("\n", normalize(act)) };
}

/** True when a correction shares more words with the result of a step than with the thought. */
export function isAboutResult(correction: string, text: string): boolean {
  const { thought, result } = partsOf(text);
  if (result === null) return false;
  const words = new Set(contentWords(correction));
  const shared = (part: string): number => new Set(contentWords(part).filter((word) => words.has(word))).size;
  return shared(result) > shared(thought);
}

/** Returns a function that returns the share of the words that a text has in common with this one, 0 to 1. 0 when their numbers differ. */
export function compareWords(text: string): (other: string) => number {
  const words = new Set(wordsOf(normalize(text)));
  const numbers = joinNumbers(text);
  return (other) => {
    // Texts of very different length cannot share most of their words.
    if (joinNumbers(other) !== numbers || other.length > 3 * text.length || text.length > 3 * other.length) return 0;
    const others = new Set(wordsOf(normalize(other)));
    const all = words.union(others).size;
    return all === 0 ? 0 : words.intersection(others).size / all;
  };
}

/** The numbers of a text without the counts of the agent's own steps. Texts that say the same have the same ones. */
export const joinNumbers = (text: string): string =>
  [...new Set(text.replace(COUNTED_STEP, " ").match(/\p{N}+/gu))].sort().join(" ");

interface Parts {
  readonly thought: string;
  readonly act: string | null;
  /** The step's result, or its command and arguments where the result only confirms them. */
  readonly result: string | null;
}

/** Splits the text of a step's row (memory/remember/remember.ts). A thought may come before the command or last. */
function partsOf(text: string): Parts {
  const command = /^Command: /m.exec(text)?.index;
  const { index: result, 0: label } = /^(?:Result \(|Not run|Done: )/m.exec(text) ?? {};
  if (command === undefined || result === undefined || result < command)
    return { thought: text, act: null, result: null };
  const thought = text.indexOf("\nThought: ", result);
  const end = thought < 0 ? text.length : thought;
  return {
    thought: text.slice(0, command) + text.slice(end),
    act: text.slice(command, end),
    result: text.slice(label === "Done: " ? command : result, end),
  };
}

/** Removes the end of a sentence but keeps a question mark, and points inside numbers and names. */
const normalize = (text: string): string =>
  text
    .normalize("NFKC")
    .toLowerCase()
    .replace(/[.!,;:]+(?=\s|$)/g, " ")
    .replace(/\s+/g, " ")
    .trim();

const wordsOf = (text: string): readonly string[] => text.match(/[\p{L}\p{M}\p{N}'’]+/gu) ?? [];
const contentWords = (text: string): readonly string[] =>
  wordsOf(normalize(text)).filter((word) => word.length > 3 || /\p{N}/u.test(word));

/** Counts of the agent's own steps, which are no data. */
const COUNTED_STEP = /\b(?:step|turn|attempt|try)s? #?\d+\b/gi;
const NEGATIONS: ReadonlySet<string> = new Set(
  (
    "no not never none nothing without cannot can't won't don't doesn't didn't isn't aren't wasn't weren't " +
    "wrong false incorrect invalid old older outdated former formerly instead but except unless however"
  ).split(" "),
);
