/**
 * python-literal.ts -- rewrites a Python literal as JSON text.
 *
 * Models write None, True, single quotes, tuples and `14_284_000` where JSON is asked for. JSON's own words are read too. Text
 * that is not one literal is refused: nothing is guessed.
 */

const quoted = (quote: string, inside: string) => `${quote}(?:[^${inside}\\\\]|\\\\[\\s\\S])*${quote}`;
const LONG = ["'''", '"""'].map((quote) => `${quote}(?:(?!${quote})[^\\\\]|\\\\[\\s\\S])*${quote}`);
const STRING = [...LONG, quoted("'", "'\\n"), quoted('"', '"\\n')].join("|");
const NUMBER = String.raw`[-+]?(?:(?:0|[1-9]\d{0,2}(?:_\d{3})+|[1-9]\d*)(?:\.\d*)?|\.\d+)(?:[eE][-+]?\d+)?`;
const TOKEN = new RegExp(`\\s*(?:(${STRING})|(${NUMBER})|([A-Za-z]+)|([[\\](){},:]))\\s*`, "y");
const WORDS = new Map(Object.entries({ None: "null", True: "true", False: "false" }));
const CLOSING: Readonly<Record<string, string>> = { "[": "]", "(": ")", "{": "}" };

/** Returns undefined for other text. What it returns may be wrong JSON, such as for a set: parse it strictly. Linear time. */
export function pythonToJson(text: string): string | undefined {
  const written: string[] = [];
  const open: { readonly sign: string; commas: number }[] = [];
  TOKEN.lastIndex = 0;
  for (let at = 0; at < text.length; at = TOKEN.lastIndex) {
    const [, string, number, word, sign = ""] = TOKEN.exec(text) ?? [""];
    const inner = open.at(-1);
    if (string) written.push(readString(string));
    else if (number) written.push(String(Number(number.replaceAll("_", ""))));
    else if (word) written.push(WORDS.get(word) ?? word);
    else if (CLOSING[sign]) {
      open.push({ sign, commas: 0 });
      written.push(sign === "(" ? "[" : sign);
    } else if (sign === "," || sign === ":") {
      if (inner && sign === ",") inner.commas++;
      written.push(sign);
    } else {
      // Text that is no token ends here too. Brackets around one value do not make a tuple.
      const isGroup = sign === ")" && inner?.commas === 0 && written.at(-1) !== "[";
      if (!inner || CLOSING[inner.sign] !== sign || isGroup) return undefined;
      if (written.at(-1) === "," && !"[{".includes(written.at(-2) ?? "[")) written.pop();
      open.pop();
      written.push(sign === ")" ? "]" : sign);
    }
  }
  return written.join(" ");
}

/** Escapes that JSON reads as Python does, and those of Python alone, which no parser of JSON takes. */
const KEPT = /\\["\\bfnrtuavxNU0-7\n]/;
/** A single backslash after a drive letter is often meant as it is. */
export const WINDOWS_PATH = /(?<![A-Za-z])[A-Za-z]:\\[^\\]/;

function readString(token: string): string {
  const quoteChars = /^(?:'{3}|"{3})/.test(token) && token.length > 5 ? 3 : 1;
  const text = token.slice(quoteChars, -quoteChars);
  if (WINDOWS_PATH.test(text)) return "'";
  const toJson = (found: string) =>
    KEPT.test(found) ? found : JSON.stringify(found === "\\'" ? "'" : found).slice(1, -1);
  return `"${text.replace(/\\[\s\S]|["\p{Cc}]/gu, toJson)}"`;
}
