/** snapshot-digest.ts -- the file of a start-up snapshot: its bytes, and their SHA-256 after them. */
import { createHash } from "node:crypto";

const DIGEST_BYTES = 32;

export const withDigest = (snapshot: Uint8Array): readonly Uint8Array[] => [snapshot, digestOf(snapshot)];

export const withoutDigest = (file: Uint8Array): Uint8Array => file.subarray(0, file.length - DIGEST_BYTES);

export const isWhole = (file: Uint8Array): boolean =>
  file.length > DIGEST_BYTES && digestOf(withoutDigest(file)).equals(file.subarray(-DIGEST_BYTES));

const digestOf = (bytes: Uint8Array): Buffer => createHash("sha256").update(bytes).digest();
