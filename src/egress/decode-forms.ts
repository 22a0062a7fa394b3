/**
 * decode-forms.ts -- lists the texts that a text may encode: itself, and each result of decoding it.
 *
 * Encodings: URL, HTML entities, escapes, base64, base32, hex, numbers of characters, ROT13, reversed, gzip. They are taken off
 * in turn, so that one inside another is found too. A result that does not look like text is dropped. The work is bounded.
 */
import { gunzipSync, inflateSync } from "node:zlib";

const MAX_DEPTH = 3;
const MAX_FORMS = 300;
const MAX_CHARS = 300_000;
/** Shorter codes hold too little to matter. */
const MIN_CODE_CHARS = 8;
const MAX_INFLATED_BYTES = 64 * 1024;

/** The text comes first. */
export function decodeForms(text: string): readonly string[] {
  const forms = new Set([text]);
  let chars = text.length;
  let layer: readonly string[] = [text];
  for (let depth = 0; depth < MAX_DEPTH && layer.length > 0; depth++) {
    const next: string[] = [];
    for (const form of layer)
      for (const decode of DECODERS)
        for (const decoded of decode(form)) {
          if (decoded === "" || forms.has(decoded) || forms.size >= MAX_FORMS || chars > MAX_CHARS) continue;
          forms.add(decoded);
          chars += decoded.length;
          next.push(decoded);
        }
    layer = next;
  }
  return [...forms];
}

type Decode = (text: string) => readonly string[];

const reverse: Decode = (text) => [[...text].reverse().join("")];

const rotate: Decode = (text) => [
  text.replace(/[a-z]/gi, (letter) => {
    const base = letter <= "Z" ? 65 : 97;
    return String.fromCharCode(((letter.charCodeAt(0) - base + 13) % 26) + base);
  }),
];

const decodePercent: Decode = (text) => {
  if (!text.includes("%")) return [];
  const bytes = text
    .replace(/\+/g, " ")
    .replace(/(?:%[0-9a-f]{2})+/gi, (codes) => readBytes(fromHex(codes.replaceAll("%", ""))));
  return [bytes];
};

const NAMED: Readonly<Record<string, string>> = { amp: "&", lt: "<", gt: ">", quot: '"', apos: "'", nbsp: " " };
const decodeEntities: Decode = (text) =>
  /&#?\w+;/.test(text)
    ? [
        text.replace(/&(?:#x([0-9a-f]{1,6})|#(\d{1,7})|(\w{2,6}));/gi, (whole, hex, decimal, name) =>
          name ? (NAMED[name] ?? whole) : fromCode(hex ? Number.parseInt(hex, 16) : Number(decimal)),
        ),
      ]
    : [];

const decodeEscapes: Decode = (text) =>
  text.includes("\\")
    ? [
        text.replace(/\\(?:u\{?([0-9a-f]{4,6})\}?|x([0-9a-f]{2})|([0-7]{3}))/gi, (_whole, code, short, octal) =>
          fromCode(octal ? Number.parseInt(octal, 8) : Number.parseInt(code ?? short, 16)),
        ),
      ]
    : [];

/** Numbers of characters, such as `67 85 83`. */
const decodeNumbers: Decode = (text) => {
  const found: string[] = [];
  for (const [list] of text.matchAll(/\d{2,3}(?:[^\da-z]{1,3}\d{2,3}){7,}/gi))
    found.push(...likeText(Uint8Array.from((list.match(/\d+/g) ?? []).map(Number))));
  return found;
};

const decodeHex: Decode = (text) =>
  decodeRuns(text, /(?:(?:0x|\\x|%|[:\s,.-])?[0-9a-f]{2}){8,}[0-9a-f]?/gi, (code) => {
    const digits = code.replace(/0x|\\x/gi, "").replace(/[^0-9a-f]/gi, "");
    return [0, 1].map((shift) => fromHex(digits.slice(shift)));
  });

const decodeBase64: Decode = (text) =>
  decodeRuns(text, /[a-z0-9+/_-](?:[\s.,]?[a-z0-9+/_-]){11,}/gi, (code) => {
    const digits = code.replace(/[\s.,]/g, "");
    return [0, 1, 2, 3].map((shift) => Buffer.from(digits.slice(shift), "base64"));
  });

/** As before, without characters that a path or a host puts between parts of a code. */
const decodeJoinedBase64: Decode = (text) => {
  const digits = text.replace(/[^a-z0-9+/_]/gi, "");
  const joined = [digits, digits.replaceAll("/", "")];
  return joined.flatMap((code) => decodeBase64(code));
};

const ALPHABET = "abcdefghijklmnopqrstuvwxyz234567";
const decodeBase32: Decode = (text) =>
  decodeRuns(text, /[a-z2-7](?:[\s.-]?[a-z2-7]){12,}/gi, (code) => {
    const digits = code.toLowerCase().replace(/[^a-z2-7]/g, "");
    return [0, 1, 2, 3, 4, 5, 6, 7].map((shift) => fromBase32(digits.slice(shift)));
  });

const DECODERS: readonly Decode[] = [
  decodePercent,
  decodeEntities,
  decodeEscapes,
  decodeNumbers,
  decodeHex,
  decodeBase64,
  decodeJoinedBase64,
  decodeBase32,
  reverse,
  rotate,
];

function decodeRuns(text: string, pattern: RegExp, read: (code: string) => readonly Uint8Array[]): readonly string[] {
  return [...text.matchAll(pattern)].flatMap(([code]) =>
    read(code).flatMap((bytes) => [...likeText(bytes), ...inflate(bytes)]),
  );
}

/** The text in these bytes; none when they do not look like text. */
function likeText(bytes: Uint8Array): readonly string[] {
  if (bytes.length < MIN_CODE_CHARS) return [];
  const text = readBytes(bytes.includes(0) ? bytes.filter((byte) => byte !== 0) : bytes);
  let strange = 0;
  for (let at = 0; at < text.length; at++) if (isStrange(text.charCodeAt(at))) strange++;
  return strange * 3 > text.length ? [] : [text];
}

function inflate(bytes: Uint8Array): readonly string[] {
  const isGzip = bytes[0] === 0x1f && bytes[1] === 0x8b;
  if (!isGzip && bytes[0] !== 0x78) return [];
  try {
    const given = { maxOutputLength: MAX_INFLATED_BYTES };
    return [readBytes(isGzip ? gunzipSync(bytes, given) : inflateSync(bytes, given))];
  } catch {
    return [];
  }
}

/** Control characters, and bytes that are no text. */
const isStrange = (code: number): boolean => code < 32 || (code > 126 && code < 160) || code === 0xfffd;

const utf8 = new TextDecoder();
const readBytes = (bytes: Uint8Array): string => utf8.decode(bytes);
const fromHex = (digits: string): Uint8Array => Buffer.from(digits, "hex");
const fromCode = (code: number): string => (code <= 0x10ffff ? String.fromCodePoint(code) : "");

function fromBase32(digits: string): Uint8Array {
  const bytes: number[] = [];
  let [value, bits] = [0, 0];
  for (const digit of digits) {
    value = ((value << 5) | ALPHABET.indexOf(digit)) & 0xffff;
    bits += 5;
    if (bits >= 8) {
      bits -= 8;
      bytes.push((value >> bits) & 0xff);
    }
  }
  return Uint8Array.from(bytes);
}
