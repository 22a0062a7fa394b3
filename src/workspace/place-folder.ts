/**
 * place-folder.ts -- creates a folder that is complete as soon as it has its name.
 *
 * A callback fills it under a temporary name beside its place, by an absolute path, and a rename gives it its name. After
 * a failure or a crash it is removed like an unfinished write.
 */
import { randomBytes } from "node:crypto";
import { lstatSync, mkdirSync, readlinkSync, renameSync } from "node:fs";
import { basename, join } from "node:path";
import { fileError, withFileErrors } from "./file-errors.ts";
import { quotePath, temporaryName } from "./path-rules.ts";
import { refuseNewRepository } from "./refuse-repository.ts";
import { removeQuietly, sweepOnce, unfinished } from "./replace-file.ts";
import type { FilePlace } from "./resolve-path.ts";

/** `key` identifies the parent folder. Errors of `fill` are thrown unchanged. */
export async function placeFolder<T>(place: FilePlace, key: string, fill: (folder: string) => Promise<T>): Promise<T> {
  const name = temporaryName(randomBytes(8).toString("hex"));
  const temporary = place.folder.at(name);
  unfinished.add(name);
  try {
    const folder = await withFileErrors(place.path, async () => {
      refuseTaken(place);
      await sweepOnce(place.folder, key);
      mkdirSync(temporary, 0o755);
      return join(realPathOf(place.folder.self), name);
    });
    const filled = await fill(folder);
    await withFileErrors(place.path, () => renameIntoPlace(place, temporary));
    return filled;
  } catch (error) {
    await removeQuietly(temporary);
    throw error;
  } finally {
    unfinished.delete(name);
  }
}

/** The check and the rename are synchronous, because a rename would replace an empty folder. */
async function renameIntoPlace(place: FilePlace, temporary: string): Promise<void> {
  await place.folder.verify();
  refuseTaken({ path: place.path, found: lstatSync(place.file, { throwIfNoEntry: false }) });
  refuseNewRepository(place.folder, basename(place.path), place.path);
  renameSync(temporary, place.file);
  await place.folder.sync();
}

function refuseTaken({ found, path }: Pick<FilePlace, "found" | "path">): void {
  if (found)
    throw fileError(
      `${quotePath(path)} exists already.`,
      "Name a folder that does not exist yet, such as one more below it.",
    );
}

/** Resolves a path by descriptor, which is meaningless to another program. */
const realPathOf = (self: string): string => (self.startsWith("/proc/self/fd/") ? readlinkSync(self) : self);
