/**
 * seal.ts -- what must hold of an agent's own row, which is no event: that it is as it was written, and leads nowhere else.
 *
 * The name, the folder and the epoch decide where an agent writes and who may append; they change with a claim only, and
 * a hash of them lies beside them.
 */
import { GoaldError } from "#core/errors.ts";
import type { AgentRow } from "#core/ports/agent.ts";
import { sha256 } from "./chain.ts";
import { folderOf } from "./slug.ts";

type Sealed = Pick<AgentRow, "id" | "name" | "folder" | "parent" | "createdAt" | "epoch">;

export const sealOf = ({ id, name, folder, parent, createdAt, epoch }: Sealed): string =>
  sha256(JSON.stringify([id, name, folder, parent, createdAt, epoch]));

/** Whether a folder is one that goald gives: `<id>`, or `<parent's folder>/agents/<id>`, which leaves `workspace/` nowhere. */
export function isFolderOf(id: string, folder: string): boolean {
  const names = folder.split("/");
  const parent = names.length === 1 ? null : names.slice(0, -2).join("/");
  const isPlain = (name: string): boolean => !/^\.*$|[\\:\p{C}]/u.test(name);
  return names.every(isPlain) && folder === folderOf(id, parent);
}

/** Throws GOALD_STORE_DAMAGED: an agent must not run on with another name, folder or epoch than it was given. */
export function requireSealed(row: Sealed & { readonly seal: string }): void {
  requireFolder(row);
  if (sealOf(row) === row.seal) return;
  throw new GoaldError("GOALD_STORE_DAMAGED", `Expected the agent ${row.id} as it was written, found it changed.`, {
    hint: "Run `goald verify` to see what else is changed, and put back a backup.",
  });
}

/** Throws GOALD_STORE_DAMAGED. */
export function requireFolder({ id, folder }: Pick<AgentRow, "id" | "folder">): void {
  if (isFolderOf(id, folder)) return;
  throw new GoaldError(
    "GOALD_STORE_DAMAGED",
    `Expected the folder of ${id} to lie in workspace/ under its own name, got ${JSON.stringify(folder)}.`,
    {
      hint: "Nothing is read or written there. Run `goald verify` to see what else is changed, and put back a backup.",
    },
  );
}
