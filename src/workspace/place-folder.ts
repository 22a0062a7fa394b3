/**
 * place-folder.ts -- a new folder that is complete as soon as it has its name.
 *
 * It is filled under a temporary name beside its place, by somebody who needs an absolute path, and gets its name by a rename.
 * What fails, or was left by a crash, is removed as an unfinished write is.
 */
import { randomBytes } from "node:crypto";
import { lstatSync, mkdirSync, readlinkSync, renameSync } from "node:fs";
import { join } from "node:path";
import { explained, fileError } from "./file-errors.ts";
import { quoted, temporaryName } from "./path-rules.ts";
import { removeQuietly, sweepOnce, unfinished } from "./replace-file.ts";
import type { Place } from "./resolve-path.ts";

/** `key` tells the folder above apart from every other one. What `fill` throws is thrown as it is. */
export async function placeFolder<T>(place: Place, key: string, fill: (folder: string) => Promise<T>): Promise<T> {
  const name = temporaryName(randomBytes(8).toString("hex"));
  const temporary = place.folder.at(name);
  unfinished.add(name);
  try {
    const folder = await explained(place.path, async () => {
      refuseTaken(place);
      await sweepOnce(place.folder, key);
      mkdirSync(temporary, 0o755);
      return join(pathOf(place.folder.self), name);
    });
    const filled = await fill(folder);
    await explained(place.path, () => giveName(place, temporary));
    return filled;
  } catch (error) {
    await removeQuietly(temporary);
    throw error;
  } finally {
    unfinished.delete(name);
  }
}

/** An empty folder would be replaced by a rename: nothing of this process comes between the look and it. */
async function giveName(place: Place, temporary: string): Promise<void> {
  await place.folder.verify();
  refuseTaken({ path: place.path, found: lstatSync(place.file, { throwIfNoEntry: false }) });
  renameSync(temporary, place.file);
  await place.folder.sync();
}

function refuseTaken({ found, path }: Pick<Place, "found" | "path">): void {
  if (found)
    throw fileError(
      `${quoted(path)} is there already.`,
      "Name a folder that is not there yet, such as one more below it.",
    );
}

/** A folder that is held open is known by its number here, which says nothing to another program. */
const pathOf = (self: string): string => (self.startsWith("/proc/self/fd/") ? readlinkSync(self) : self);
