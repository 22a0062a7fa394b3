/** move-file.ts -- renames a file inside the workspace. It replaces nothing. */
import { lstatSync, renameSync } from "node:fs";
import { basename } from "node:path";
import { fileError } from "./file-errors.ts";
import { quotePath } from "./path-rules.ts";
import { refuseNewRepository } from "./refuse-repository.ts";
import { type FilePlace, requirePlainFile } from "./resolve-path.ts";

/** The checks and the rename are synchronous, because a rename would replace a file. */
export async function moveFile(from: FilePlace, to: FilePlace): Promise<void> {
  await from.folder.verify();
  await to.folder.verify();
  requirePlainFile(lstatSync(from.file), from.path);
  if (lstatSync(to.file, { throwIfNoEntry: false }))
    throw fileError(`${quotePath(to.path)} exists already.`, "Choose another name.");
  refuseNewRepository(to.folder, basename(to.path), to.path);
  renameSync(from.file, to.file);
  await to.folder.sync();
  await from.folder.sync();
}
