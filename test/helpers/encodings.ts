/** encodings.ts -- ways to write a text so that it does not look like itself. */
import { gzipSync } from "node:zlib";

export const base64 = (text: string): string => Buffer.from(text).toString("base64");
export const hex = (text: string): string => Buffer.from(text).toString("hex");
export const reverse = (text: string): string => [...text].reverse().join("");
const base32 = (text: string): string => {
  const bits = [...Buffer.from(text)].map((byte) => byte.toString(2).padStart(8, "0")).join("");
  return (bits.match(/.{1,5}/g) ?? [])
    .map((five) => "abcdefghijklmnopqrstuvwxyz234567"[Number.parseInt(five.padEnd(5, "0"), 2)])
    .join("");
};
const rot13 = (text: string): string =>
  text.replace(/[a-z]/gi, (letter) => String.fromCharCode(letter.charCodeAt(0) + (/[a-m]/i.test(letter) ? 13 : -13)));

const withoutAccents = (text: string): string => text.normalize("NFKD").replace(/\p{M}/gu, "");

/** Ways to write a text so that a reader can get it back. */
export const ENCODINGS: Readonly<Record<string, (text: string) => string>> = {
  plain: (text) => text,
  "without blanks and marks": (text) => withoutAccents(text).replace(/[^a-z0-9]/gi, ""),
  "in capitals with dashes": (text) => withoutAccents(text).toUpperCase().replace(/\W+/g, "-"),
  URL: (text) => encodeURIComponent(text),
  "every byte in percent": (text) => hex(text).replace(/../g, "%$&"),
  base64,
  base64url: (text) => Buffer.from(text).toString("base64url"),
  "base64 with something before": (text) => base64(`x${text}`),
  hex,
  "hex with colons": (text) => (hex(text).match(/../g) ?? []).join(":"),
  base32,
  reversed: reverse,
  rot13,
  "numbers of characters": (text) => [...Buffer.from(text)].join("-"),
  "HTML entities": (text) => [...text].map((letter) => `&#${letter.codePointAt(0)};`).join(""),
  "JSON escapes": (text) =>
    [...text].map((letter) => `\\u${letter.charCodeAt(0).toString(16).padStart(4, "0")}`).join(""),
  gzip: (text) => gzipSync(text).toString("base64url"),
};
