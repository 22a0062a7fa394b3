/**
 * chain.ts -- the hash chain that links each event to all earlier ones.
 *
 * A link is the SHA-256, in hex, of the previous link and the event's canonical text. The link of a commit's last
 * event also covers the digest of the commit's other rows. The first link depends on the agent's id, so two logs cannot
 * be exchanged. The hashed text is the stored text, so a check of the log parses nothing.
 */
import { hash } from "node:crypto";

export const sha256 = (data: string | Uint8Array): string => hash("sha256", data, "hex");

/** The link before an agent's first event. */
export const chainStart = (agent: string): string => sha256(`goald agent ${agent}`);

/** `text` is one JSON value, so the digest appended to it cannot be read as a part of it. */
export const chainLink = (previous: string, text: string, rowsSha: string | null = null): string =>
  sha256(previous + text + (rowsSha ?? ""));

/** Binds a snapshot to the log: `link` is the link of the last event that it contains. */
export const snapshotSha = (
  link: string,
  { version, data }: { readonly version: number; readonly data: string },
): string => sha256(`${link}${version} ${data}`);
