/**
 * tokens.ts -- estimates the tokens of a text without a tokenizer.
 *
 * The tables of a tokenizer take 65 MB of memory, and its exact count is valid for one model family only. This scan
 * follows the rules by which byte-pair tokenizers split a text before they merge: a word with the space before it, up
 * to three digits, a run of signs, a run of blanks. Each part is charged by kind and length; other scripts by
 * character.
 *
 * The charges were fitted to the larger of the counts of cl100k_base and o200k_base. Deviations: README files +12 %,
 * TypeScript and JavaScript +12 to +19 %, JSON +3 to +20 %, base64 and hex −4 to −1 %, Chinese +17 to +30 %
 * (traditional −7 to −10 %), blanks +1 to +12 %. Over 700 other files (source, headers, source maps, Markdown, JSON,
 * XML) the median was +17 % and the lowest of a hundred −7 %; one Slovak file was more than 10 % low. The estimate is
 * low for random letters (−40 %) and rare ideographs (−45 %), and several times too high for scripts that o200k merges
 * but cl100k encodes by bytes (Hindi, Georgian). test/prompt/words.test.ts has a text of each kind with its counts.
 */
import type { PromptMessage } from "#core/ports/model.ts";
import { cacheByKey } from "#util/caches.ts";

export interface SizedMessage {
  readonly prompt: PromptMessage;
  readonly tokens: number;
}

export const userMessage = (content: string): SizedMessage => ({
  prompt: { role: "user", content },
  tokens: estimateMessage(content),
});

/** Overhead of the chat format per message, and once per request for the reply. */
const TOKENS_PER_MESSAGE = 4;
export const TOKENS_PER_REQUEST = 3;

export const estimateMessage = (content: string): number => TOKENS_PER_MESSAGE + estimateTokens(content);

const OTHER = 0;
const SPACE = 1;
const TAB = 2;
const NEWLINE = 3;
const LOWER = 4;
const UPPER = 5;
const DIGIT = 6;
const PUNCTUATION = 7;

const KIND_OF_ASCII = Uint8Array.from({ length: 128 }, (_, code) => {
  const char = String.fromCharCode(code);
  if (char === " ") return SPACE;
  if (char === "\t") return TAB;
  if (char === "\n" || char === "\r") return NEWLINE;
  if (/[a-z]/.test(char)) return LOWER;
  if (/[A-Z]/.test(char)) return UPPER;
  if (/[0-9]/.test(char)) return DIGIT;
  return code > 32 && code < 127 ? PUNCTUATION : OTHER;
});
const IS_VOWEL = Uint8Array.from({ length: 128 }, (_, code) => Number(/[aeiouy]/i.test(String.fromCharCode(code))));

/** Last letter code that is counted as part of a Latin word. */
const LATIN_END = 0x24f;
const UNDERSCORE = 95;
const NEWLINE_CODE = 10;
/** Extra charge per character of a word with more than two changes of case, such as base64. */
const MIXED = 0.18;

/**
 * Returns whole tokens, at least 1 for a non-empty text. The cost of a line does not depend on earlier lines, so long
 * lines are cached: most lines of a prompt were in the previous one too.
 */
export function estimateTokens(text: string): number {
  let cost = 0;
  for (let from = 0; from < text.length; ) {
    const newline = text.indexOf("\n", from);
    const end = newline < 0 ? text.length : newline + 1;
    cost += from === 0 ? chargeText(text.slice(0, end), true) : chargeLine(text.slice(from, end));
    from = end;
  }
  return Math.max(Math.ceil(cost), Math.min(text.length, 1));
}

const MIN_KEPT_CHARS = 80;
const MAX_KEPT_CHARS = 2_000;
const MAX_KEPT_LINES = 512;
const chargeCached = cacheByKey((line: string) => chargeText(line, false), MAX_KEPT_LINES);

const chargeLine = (line: string): number =>
  line.length < MIN_KEPT_CHARS || line.length > MAX_KEPT_CHARS ? chargeText(line, false) : chargeCached(line);

/** Charges a text as if a line end preceded it, unless `isBeginning`. */
function chargeText(text: string, isBeginning: boolean): number {
  let cost = 0;
  let previous = isBeginning ? -1 : NEWLINE_CODE;
  let kind = isBeginning ? OTHER : NEWLINE;
  /** Length of the current run of one kind; a capital and the small letters after it are one run. */
  let run = isBeginning ? 0 : 1;
  let consonants = 0;
  /** Changes of case since the last space or sign. */
  let changes = 0;
  for (let index = 0; index < text.length; index++) {
    const code = text.charCodeAt(index);
    if (code > 127) {
      cost += code === previous && isSymbol(code) ? 0.35 : chargeForeign(code);
      previous = code;
      if (code > LATIN_END) kind = OTHER;
      continue;
    }
    const next = KIND_OF_ASCII[code] as number;
    const goesOn = next === kind || (next === LOWER && kind === UPPER && run === 1);
    const isBehindOne = !goesOn && run === 1;
    if (next < LOWER || next > DIGIT) changes = 0;
    else if (!goesOn && next !== DIGIT && (kind === LOWER || kind === UPPER)) changes++;
    if (changes > 2) cost += MIXED;
    run = goesOn ? run + 1 : 1;
    if (next === LOWER || next === UPPER) {
      consonants = IS_VOWEL[code] ? 0 : run === 1 ? 1 : consonants + 1;
      cost += chargeLetter(next, run, consonants, code === previous);
      // A single sign and the word after it are often one token: `_file`, `.json`.
      if (isBehindOne && kind === PUNCTUATION && (next === LOWER || previous === UNDERSCORE)) cost -= 0.4;
    } else if (next === DIGIT) {
      // The space before a word is part of its token; the space before a number is its own token.
      cost += (run % 3 === 1 ? 1 : 0) + (isBehindOne && kind === SPACE ? 1 : 0);
    } else cost += chargeSeparator(next, run, kind, code === previous);
    kind = next;
    previous = code;
  }
  return cost;
}

function chargeLetter(kind: number, run: number, consonants: number, isRepeated: boolean): number {
  if (run === 1) return 1;
  if (run > 4 && isRepeated) return 0.13;
  if (kind === UPPER) return run === 2 ? 0.1 : run <= 12 ? 0.35 : 0.55;
  const unlikely = consonants > 3 ? 0.4 : 0;
  return (run <= 4 ? 0.01 : run <= 12 ? 0.09 : 0.45) + unlikely;
}

function chargeSeparator(kind: number, run: number, before: number, isRepeated: boolean): number {
  switch (kind) {
    case PUNCTUATION:
      if (run === 1) return 0.95;
      if (isRepeated) return run > 4 ? 0.02 : 0.25;
      return run === 2 ? 0.2 : 0.7;
    case SPACE:
      return run === 1 ? 0 : run === 2 ? 1 : 0.01;
    case TAB:
      return run === 1 ? 0.5 : 0.07;
    case NEWLINE:
      if (run > 1) return 0.07;
      return before === PUNCTUATION || before === SPACE ? 0.5 : 1;
    default:
      return 1;
  }
}

/** Charges one UTF-16 unit: a character outside the basic plane is charged twice. */
function chargeForeign(code: number): number {
  if (code < 0x100) return 0.85;
  if (code < 0x250) return 1.6;
  if (code < 0x370) return 2;
  if (code < 0x400) return 1.1;
  if (code < 0x530) return 0.52;
  if (code < 0x590) return 1.6;
  if (code < 0x600) return 1.2;
  if (code < 0x700) return 0.85;
  if (code < 0xe80) return 1.5;
  if (code < 0x1e00) return 3;
  if (code < 0x1f00) return 1.2;
  if (code < 0x2190) return 1.3;
  if (code < 0x2e80) return 1.9;
  if (code < 0x3040) return 1.1;
  if (code < 0x3100) return 1.05;
  if (code < 0xa000) return code < 0x4e00 ? 2.4 : 1.3;
  if (code >= 0xac00 && code < 0xd7b0) return 1.15;
  if (code >= 0xd800 && code < 0xe000) return 1.65;
  return code >= 0xff00 && code < 0xffe0 ? 1.4 : 3;
}

const isSymbol = (code: number): boolean => code >= 0x2000 && code < 0x2e80;

/**
 * Finds a limit in characters at which `render(limit)` costs at most `maxTokens`. It tells how many characters it shows where these
 * may be fewer. After `MAX_TRIES` proportional tries it returns `render(0)`, even if that is too large.
 */
export function shrinkText<T extends { readonly tokens: number; readonly chars?: number }>(
  length: number,
  tokens: number,
  maxTokens: number,
  render: (limit: number) => T,
): T {
  let limit = length;
  let shown = length;
  let cost = tokens;
  for (let attempt = 0; attempt < MAX_TRIES && limit > 0; attempt++) {
    limit = Math.max(0, Math.floor(Math.min(limit - 1, (shown * maxTokens * 0.96) / cost)));
    const rendered = render(limit);
    if (rendered.tokens <= maxTokens) return rendered;
    cost = rendered.tokens;
    shown = Math.min(limit, rendered.chars ?? limit);
  }
  return render(0);
}

const MAX_TRIES = 8;
