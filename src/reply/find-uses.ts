/**
 * find-uses.ts -- finds in the Python of an action which functions it calls, and which values the model may have made up.
 *
 * The scan is shallow, looks at one action only, and favours silence: a wrong remark costs the model a step. A value counts when it
 * is given to a function, or a number to a name, and is specific: a number that is neither small nor round, or one word with a
 * digit or a sign of an address. A part of a computation, an index and a key do not count.
 */

interface CodeUses {
  /** A name for each call in the code, in order. */
  readonly calls: readonly string[];
  /** The specific values, each once. */
  readonly values: readonly string[];
}

const TEXTS =
  /#[^\n]*|(?<prefix>(?<![\p{L}\p{N}_])[rbuf]{1,2})?(?:(?<long>"""|''')(?<lines>(?:\\[\s\S]|(?!\k<long>)[^\\])*)\k<long>|(?<mark>["'])(?<line>(?:\\[\s\S]|(?!\k<mark>)[^\\\n])*)\k<mark>)/giu;
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

/** `functions`: names of the functions that matter. */
export function findUses(code: string, functions: ReadonlySet<string>): CodeUses {
  const texts: string[] = [];
  const plain = code.replace(TEXTS, (...found) => {
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
    const inside = readBrackets(plain, index + length - 1).replace(INDEX, "");
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

/** The text from the bracket at `start` to the one that closes it. */
function readBrackets(plain: string, start: number): string {
  let depth = 0;
  for (let at = start; at < plain.length; at++) {
    if ("([{".includes(plain[at] as string)) depth++;
    else if (")]}".includes(plain[at] as string)) depth--;
    if (depth === 0) return plain.slice(start, at + 1);
  }
  return plain.slice(start);
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
