/**
 * same-statement.ts -- the rule by which two rows of memory say the same.
 *
 * A person's correction and a person's wish to forget act on every such row, so the rule never joins rows that say something
 * else: one other word is enough. Rows that are only alike are listed for the person (`compareWords`).
 */

/** Two rows say the same when one of these is equal. */
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
  const [words, numbers] = [new Set(wordsOf(normalize(text))), joinNumbers(text)];
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

/** Splits the text of a step's row (memory/recall/remember.ts). */
function partsOf(text: string): Parts {
  const command = /^Command: /m.exec(text)?.index;
  const { index: result, 0: label } = /^(?:Result \(|Not run|Done: )/m.exec(text) ?? {};
  if (command === undefined || result === undefined || result < command)
    return { thought: text, act: null, result: null };
  return {
    thought: text.slice(0, command),
    act: text.slice(command),
    result: text.slice(label === "Done: " ? command : result),
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
