/**
 * chain.ts -- the hash chain that links each event to all earlier ones.
 *
 * A link is the SHA-256, in hex, of the previous link and the event's canonical text. The link of a commit's last event
 * also covers the digest of the commit's other rows. The first link depends on the agent's id, so two logs cannot be
 * exchanged. The hashed text is the stored text, so a check of the log parses nothing.
 */
import { hash } from "node:crypto";
import { GoaldError } from "#core/errors.ts";
import type { AgentRow } from "#core/ports/store.ts";
import { folderOf } from "#core/subagent.ts";

type SealedColumns = Pick<AgentRow, "id" | "name" | "folder" | "parent" | "createdAt" | "epoch">;

/**
 * Returns the hash that an agent's row keeps to protect itself, because the hash chain does not cover the row. The
 * name, folder and epoch decide where an agent writes and who may append; only a claim changes them.
 */
export const sealOf = ({ id, name, folder, parent, createdAt, epoch }: SealedColumns): string =>
  sha256(JSON.stringify([id, name, folder, parent, createdAt, epoch]));

/** True for `<id>` and `<parent's folder>/agents/<id>`: the only folders that goald gives, all of them within `workspace/`. */
export function isFolderOf(id: string, folder: string): boolean {
  const names = folder.split("/");
  const parent = names.length === 1 ? null : names.slice(0, -2).join("/");
  const isPlain = (name: string): boolean => !/^\.*$|[\\:\p{C}]/u.test(name);
  return names.every(isPlain) && folder === folderOf(id, parent);
}

/** Throws GOALD_STORE_DAMAGED when the row was changed: an agent must not run with another name, folder or epoch. */
export function requireSealed(row: SealedColumns & { readonly seal: string }): void {
  requireFolder(row);
  if (sealOf(row) === row.seal) return;
  throw new GoaldError("GOALD_STORE_DAMAGED", `Expected the agent ${row.id} as it was written, found it changed.`, {
    hint: "Run `goald verify` to list all changes, then restore a backup.",
  });
}

/** Throws GOALD_STORE_DAMAGED for a folder that goald does not give. */
export function requireFolder({ id, folder }: Pick<AgentRow, "id" | "folder">): void {
  if (isFolderOf(id, folder)) return;
  throw new GoaldError(
    "GOALD_STORE_DAMAGED",
    `Expected the folder of ${id} in workspace/ under its own id, got ${JSON.stringify(folder)}.`,
    {
      hint: "goald reads and writes nothing there. Run `goald verify` to list all changes, then restore a backup.",
    },
  );
}

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
