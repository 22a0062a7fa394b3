/** find-git.ts -- where git is, looked for along PATH as a shell does. */
import { accessSync, constants, statSync } from "node:fs";
import { delimiter, isAbsolute, join } from "node:path";

/** undefined when there is none. Folders that are relative are left out: what lies there may be anybody's. */
export function findGit(path: string | undefined): string | undefined {
  const name = process.platform === "win32" ? "git.exe" : "git";
  return (path ?? "")
    .split(delimiter)
    .filter(isAbsolute)
    .map((folder) => join(folder, name))
    .find(isProgram);
}

function isProgram(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return statSync(file).isFile();
  } catch {
    return false;
  }
}
