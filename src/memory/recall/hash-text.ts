/** hash-text.ts -- a number for a text, by which rows are found without their texts. */
import { hash } from "node:crypto";

/** Returns 48 bits of a hash of the text without its case and white space. */
export const hashText = (text: string): number =>
  hash(
    "sha1",
    text
      .toLowerCase()
      .replace(/\s{2,}|[^\S ]/g, " ")
      .trim(),
    "buffer",
  ).readUIntBE(0, 6);
