/**
 * seal.ts -- protects an agent's row, which the hash chain does not cover, by a hash in the row.
 *
 * The name, folder and epoch decide where an agent writes and who may append. Only a claim changes them.
 */

import { GoaldError } from "#core/errors.ts";
import type { AgentRow } from "#core/ports/store.ts";
import { folderOf } from "#core/subagent.ts";
import { sha256 } from "./chain.ts";

type SealedColumns = Pick<AgentRow, "id" | "name" | "folder" | "parent" | "createdAt" | "epoch">;

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
