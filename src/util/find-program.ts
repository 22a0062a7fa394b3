/** find-program.ts -- finds a program along PATH, as a shell does. */
import { accessSync, constants, statSync } from "node:fs";
import { delimiter, isAbsolute, join } from "node:path";
import { orUndefined } from "#core/errors.ts";

export const findGit = (path: string | undefined): string | undefined => findProgram("git", path);

/** Returns undefined if there is none. Skips relative folders: anybody could have put a program there. */
export function findProgram(name: string, path: string | undefined): string | undefined {
  const file = process.platform === "win32" ? `${name}.exe` : name;
  return (path ?? "")
    .split(delimiter)
    .filter(isAbsolute)
    .map((folder) => join(folder, file))
    .find(isExecutable);
}

const isExecutable = (file: string): boolean =>
  orUndefined(() => {
    accessSync(file, constants.X_OK);
    return statSync(file).isFile();
  }) === true;
