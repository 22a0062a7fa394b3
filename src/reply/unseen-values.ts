/**
 * unseen-values.ts -- decides which values in the code of an action the model may have made up.
 *
 * A value counts when it is specific: a number that is neither small nor round, or a single word that names something. What the
 * model words or names itself, such as a message or a new file, does not count. The scan favours silence: a wrong remark costs
 * the model a step, and a missed one costs nothing that was there before.
 */
import type { CellFunction } from "#core/ports/sandbox.ts";
import type { LiteralUse } from "./find-uses.ts";

/** Numbers of units, such as days of a year or seconds of an hour. */
const UNIT_NUMBERS: ReadonlySet<number> = new Set([180, 360, 365, 366, 1_024, 3_600, 86_400]);
const LEAST_INTEGER = 100;
const LEAST_WORD_CHARS = 3;

/** Parameters whose text the model words itself. */
const OWN_WORDS =
  /(?:^|_)(?:text|msg|message|content|body|title|subject|caption|question|query|description|reason|prompt|task|note|thought|file|filename|path|folder|directory|name)s?$/i;
const FILE_NAME = /^[\w./-]*\w\.(?:md|txt|csv|tsv|json|html?|xml|py|js|pdf|png|jpe?g|svg|gif|webp)$/i;

/** The values that must be in what the model was shown, each once. */
export function listSpecificValues(
  literals: readonly LiteralUse[],
  functions: ReadonlyMap<string, CellFunction>,
): readonly string[] {
  const values = literals.filter((literal) => {
    if (literal.kind === "number") return isSpecificNumber(literal.text);
    const called = functions.get(literal.call ?? "");
    return isSpecificWord(literal.text) && !isOwnWord(literal, called) && !isInText(literal.text, wordsOf(called));
  });
  return [...new Set(values.map(({ text }) => text))];
}

function isSpecificNumber(text: string): boolean {
  const written = text.replaceAll("_", "");
  if (!/^\d*\.?\d*$/.test(written)) return false;
  const value = Number(written);
  if (Number.isInteger(value))
    return value >= LEAST_INTEGER && !/^\d0*$/.test(String(value)) && !UNIT_NUMBERS.has(value);
  return !Number.isInteger(value * 10) && !Number.isInteger(value * 4);
}

const isSpecificWord = (text: string): boolean =>
  text.length >= LEAST_WORD_CHARS && /^\S+$/.test(text) && /[\p{L}\p{N}]/u.test(text) && !FILE_NAME.test(text);

function isOwnWord({ parameter }: LiteralUse, called: CellFunction | undefined): boolean {
  const name = typeof parameter === "number" ? called?.parameters[parameter]?.name : parameter;
  return name !== undefined && name !== null && OWN_WORDS.test(name);
}

const wordsOf = (called: CellFunction | undefined): string => (called ? `${called.signature} ${called.doc}` : "");

/** Whether a text has the value, word for word. Letters may differ in case, numbers in how thousands are set apart. */
export function isInText(value: string, text: string): boolean {
  if (!/^\d*\.?\d*$/.test(value.replaceAll("_", ""))) return isWordIn(value, text);
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
