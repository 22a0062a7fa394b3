/**
 * file-errors.ts -- turns errors of the file system into GoaldErrors.
 *
 * Every failed file operation throws a GoaldError that names the requested path and a remedy, and no absolute path.
 */
import { codeOf, GoaldError, isGoaldError, toError } from "#core/errors.ts";
import { quotePath, refused } from "./path-rules.ts";

/** Runs `act`, and throws its errors as GoaldErrors about `path`. */
export async function withFileErrors<T>(path: string, act: () => Promise<T>): Promise<T> {
  try {
    return await act();
  } catch (error) {
    throw toFileError(error, path);
  }
}

export function toFileError(error: unknown, path: string): GoaldError {
  if (isGoaldError(error)) return error;
  const code = codeOf(error);
  const at = quotePath(path);
  switch (code) {
    case "ENOENT":
      return fileMissing(path);
    case "ENOSPC":
    case "EDQUOT":
    case "EFBIG":
      return new GoaldError("GOALD_STORE_FULL", `There is no room left to write ${at} (${code}); it is unchanged.`, {
        hint: "Free some space or raise the quota, then resume.",
        cause: error,
      });
    case "ENAMETOOLONG":
      return refused(path, "is too long", "Use a shorter path.");
    case "ELOOP":
      return refused(path, "leads through a link", "Name the file itself.");
    case "ENOTDIR":
      return fileError(`On the way to ${at} there is a file where a folder is needed.`, "Choose another path.", error);
    case "EISDIR":
      return notAFile(path);
    case "EACCES":
    case "EPERM":
    case "EROFS":
      return fileError(`The system does not permit this operation on ${at} (${code}).`, "Choose another path.", error);
    default:
      return fileError(
        `The operation on ${at} failed: ${code ?? toError(error).message}.`,
        "Try again, or choose another path.",
        error,
      );
  }
}

export const fileMissing = (path: string): GoaldError =>
  new GoaldError("GOALD_FILE_MISSING", `There is no file ${quotePath(path)} in the workspace.`, {
    hint: "search_files lists the files.",
  });
export const notAFile = (path: string): GoaldError =>
  path === ""
    ? fileError("The path names the workspace itself.", "Name a path inside it.")
    : fileError(`${quotePath(path)} is a folder, not a file.`, "Name a file.");
export const fileError = (message: string, hint: string, cause?: unknown): GoaldError =>
  new GoaldError("GOALD_FILE", message, { hint, cause });
