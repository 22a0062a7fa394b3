/** snapshot-digest.ts -- the file of a start-up snapshot: its bytes, and their SHA-256 after them. */
import { createHash } from "node:crypto";

export const DIGEST_BYTES = 32;

export const withDigest = (snapshot: Uint8Array): readonly Uint8Array[] => [
  snapshot,
  createHash("sha256").update(snapshot).digest(),
];

export const withoutDigest = (file: Uint8Array): Uint8Array => file.subarray(0, file.length - DIGEST_BYTES);
