/**
 * words.ts -- a text as the words that are compared without a model: folded, split, and stemmed.
 *
 * One reading of words for all of it: the offline embedder, the search in a page,
 * the search for near-duplicates, the ranking when no embedder answers. Accents and case
 * are folded, identifiers are given whole and in parts (`readFile` is also `read`, `file`),
 * scripts that put no space between words are given as single characters and pairs.
 */

/** What is read of one text; the rest adds cost and hardly any meaning to a vector. */
const MAX_TEXT_CHARS = 8_000;
/** A longer run of letters is data, such as base64, and is read up to here. */
const MAX_WORD_CHARS = 64;

/** Every word in order of appearance, repeats included, folded but not stemmed. */
export function wordsOf(text: string): string[] {
  const folded = fold(text.length > MAX_TEXT_CHARS ? text.slice(0, MAX_TEXT_CHARS) : text);
  const found: string[] = [];
  let at = 0;
  while (at < folded.length) {
    const kind = kindOf(folded.charCodeAt(at));
    if (kind === OTHER) at++;
    else if (kind === UNSPACED) at = readUnspaced(folded, at, found);
    else at = readWord(folded, at, found);
  }
  return found;
}

/** FNV-1a over code units, then mixed so that every bit depends on every character. */
export function hashOf(text: string, seed = 0): number {
  let hash = 0x811c9dc5 ^ seed;
  for (let at = 0; at < text.length; at++) hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193);
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  return (hash ^ (hash >>> 13)) >>> 0;
}

/** Longest first; what remains must keep at least three letters. English, with the commonest German endings. */
const SUFFIXES = ["ational", "ation", "ingly", "ment", "ness", "edly", "ung", "ing", "ed", "ly", "en", "e", "y"];

/** Rough on purpose: words of one family should meet, and their n-grams forgive the rest. */
export function stemOf(word: string): string {
  const one = singularOf(word);
  if (one.length < 4) return one;
  for (const suffix of SUFFIXES)
    if (one.length - suffix.length >= 3 && one.endsWith(suffix)) return undoubled(one.slice(0, -suffix.length));
  return one;
}

/** `tokens` and `token` before anything else is taken off, so that both end alike. */
function singularOf(word: string): string {
  if (word.length < 4 || !word.endsWith("s") || /(?:s|u|i)s$/.test(word)) return word;
  return word.endsWith("ies") && word.length > 4 ? `${word.slice(0, -3)}y` : word.slice(0, -1);
}

const OTHER = 1;
const LOWER = 2;
const UPPER = 3;
const DIGIT = 4;
const UNSPACED = 5;

/** Code unit -> kind, filled as characters are met; 0 is "not met yet". */
const kinds = new Uint8Array(65_536);

function kindOf(unit: number): number {
  const known = kinds[unit];
  return known ? known : classify(unit);
}

function classify(unit: number): number {
  const character = String.fromCharCode(unit);
  let kind = OTHER;
  if (
    /[\p{sc=Han}\p{sc=Hiragana}\p{sc=Katakana}\p{sc=Hangul}\p{sc=Thai}\p{sc=Lao}\p{sc=Khmer}\p{sc=Myanmar}]/u.test(
      character,
    )
  )
    kind = UNSPACED;
  else if (/\p{Lu}/u.test(character)) kind = UPPER;
  else if (/\p{N}/u.test(character)) kind = DIGIT;
  else if (/[\p{L}\p{M}]/u.test(character) || (unit >= 0xd800 && unit <= 0xdfff)) kind = LOWER;
  kinds[unit] = kind;
  return kind;
}

/** Accents go, compatibility forms become plain ones, Hangul stays in syllables. */
function fold(text: string): string {
  if (!/[^\0-\x7f]/.test(text)) return text;
  return text
    .normalize("NFKD")
    .replace(/[\u0300-\u036f]+/g, "")
    .normalize("NFC")
    .replaceAll("ß", "ss");
}

function readWord(text: string, from: number, found: string[]): number {
  const parts: number[] = [];
  let at = from;
  let before = OTHER;
  for (; at < text.length; at++) {
    const kind = kindOf(text.charCodeAt(at));
    if (kind === OTHER || kind === UNSPACED) break;
    if (kind === UPPER && before === LOWER) parts.push(at);
    before = kind;
  }
  const end = Math.min(at, from + MAX_WORD_CHARS);
  found.push(text.slice(from, end).toLowerCase());
  if (parts.length > 0 && parts.length < 8) {
    const bounds = [from, ...parts, at];
    for (let part = 1; part < bounds.length; part++)
      found.push(text.slice(bounds[part - 1], Math.min(bounds[part] ?? at, end)).toLowerCase());
  }
  return at;
}

function readUnspaced(text: string, from: number, found: string[]): number {
  let at = from;
  while (at < text.length && kindOf(text.charCodeAt(at)) === UNSPACED) {
    found.push(text.charAt(at));
    if (at > from) found.push(text.slice(at - 1, at + 1));
    at++;
  }
  return at;
}

/** `planned` and `plan`, `stopping` and `stop`. */
function undoubled(stem: string): string {
  const last = stem.at(-1);
  const doubled = stem.length > 3 && last === stem.at(-2) && last !== undefined && !"lsz".includes(last);
  return doubled ? stem.slice(0, -1) : stem;
}
