/**
 * words.ts -- splits a text into folded words for comparison without a model, and stems words. The offline embedder,
 * the search in a page, the search for near-duplicates and lexical ranking all use it. Accents and case are folded.
 * Identifiers are returned whole and in parts (`readFile` also gives `read` and `file`). Scripts without spaces between
 * words give single characters and pairs.
 */

/** The rest of a longer text is ignored: it adds cost and hardly any meaning to a vector. */
const MAX_TEXT_CHARS = 8_000;
/** A longer run of letters is data, such as base64, and is cut to this length. */
const MAX_WORD_CHARS = 64;

/** Returns every word in order, with repeats, folded but not stemmed. */
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

/** FNV-1a over code units, then mixed so that every bit depends on every character. 32 bits. */
export function hashOf(text: string, seed = 0): number {
  let hash = 0x811c9dc5 ^ seed;
  for (let at = 0; at < text.length; at++) hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193);
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  return (hash ^ (hash >>> 13)) >>> 0;
}

/** Longest first. At least three letters must remain. English, with the most common German endings. */
const SUFFIXES = ["ational", "ation", "ingly", "ment", "ness", "edly", "ung", "ing", "ed", "ly", "en", "e", "y"];

/** A rough stemmer: related words usually get one stem, and n-grams make up for the rest. */
export function stemOf(word: string): string {
  const one = removePlural(word);
  if (one.length < 4) return one;
  for (const suffix of SUFFIXES)
    if (one.length - suffix.length >= 3 && one.endsWith(suffix)) return removeDoubling(one.slice(0, -suffix.length));
  return one;
}

/** Removes the plural before any suffix, so that `tokens` and `token` get the same stem. */
function removePlural(word: string): string {
  if (word.length < 4 || !word.endsWith("s") || /(?:s|u|i)s$/.test(word)) return word;
  return word.endsWith("ies") && word.length > 4 ? `${word.slice(0, -3)}y` : word.slice(0, -1);
}

const OTHER = 1;
const LOWER = 2;
const UPPER = 3;
const DIGIT = 4;
const UNSPACED = 5;

/** Maps a code unit to its kind, filled on demand; 0 is "not classified yet". */
const kinds = new Uint8Array(65_536);

const kindOf = (unit: number): number => kinds[unit] || classify(unit);

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

/** Removes accents and replaces compatibility forms; Hangul stays in syllables. */
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

/** Makes `planned` match `plan`, and `stopping` match `stop`. */
function removeDoubling(stem: string): string {
  const last = stem.at(-1);
  const doubled = stem.length > 3 && last === stem.at(-2) && last !== undefined && !"lsz".includes(last);
  return doubled ? stem.slice(0, -1) : stem;
}
