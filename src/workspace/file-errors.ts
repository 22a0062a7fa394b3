/**
 * file-errors.ts -- what a file system says, in goald's words.
 *
 * Every failure of a file operation leaves the workspace as a GoaldError whose message
 * names the path that was asked for and says what to do; no absolute path is in it.
 */
import { GoaldError, isGoaldError, toError } from "#core/errors.ts";
import { quoted, refused } from "./path-rules.ts";

/** Runs `act`; what it throws is explained as a failure at `path`. */
export async function explained<T>(path: string, act: () => Promise<T>): Promise<T> {
  try {
    return await act();
  } catch (error) {
    throw explain(error, path);
  }
}

export function explain(error: unknown, path: string): GoaldError {
  if (isGoaldError(error)) return error;
  const code = codeOf(error);
  const at = quoted(path);
  switch (code) {
    case "ENOENT":
      return missing(path);
    case "ENOSPC":
    case "EDQUOT":
    case "EFBIG":
      return new GoaldError("GOALD_STORE_FULL", `There is no room left to write ${at} (${code}); it is as it was.`, {
        hint: "Free some space or raise the quota, then resume.",
        cause: error,
      });
    case "ENAMETOOLONG":
      return refused(path, "is too long", "Use a shorter path.");
    case "ELOOP":
      return refused(path, "leads over a link", "Name the file itself.");
    case "ENOTDIR":
      return fileError(`On the way to ${at} lies a file where a folder is needed.`, "Choose another path.", error);
    case "EISDIR":
      return isFolder(path);
    case "EACCES":
    case "EPERM":
    case "EROFS":
      return fileError(`The system does not permit that at ${at} (${code}).`, "Choose another path.", error);
    default:
      return fileError(
        `It did not work at ${at}: ${code ?? toError(error).message}.`,
        "Try again, or choose another path.",
        error,
      );
  }
}

export const missing = (path: string): GoaldError =>
  new GoaldError("GOALD_FILE_MISSING", `There is no file ${quoted(path)} in the workspace.`, {
    hint: "search_files shows what there is.",
  });
export const isFolder = (path: string): GoaldError =>
  fileError(
    path === ""
      ? "The path names the workspace itself, which is a folder."
      : `${quoted(path)} is a folder, not a file.`,
    "Name a file.",
  );
export const fileError = (message: string, hint: string, cause?: unknown): GoaldError =>
  new GoaldError("GOALD_FILE", message, { hint, cause });

export const codeOf = (error: unknown): string | undefined =>
  Error.isError(error) && "code" in error && typeof error.code === "string" ? error.code : undefined;
