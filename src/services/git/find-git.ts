/** find-git.ts -- finds git along PATH. */
import { findProgram } from "#util/find-program.ts";

export const findGit = (path: string | undefined): string | undefined => findProgram("git", path);
