/**
 * file-words.ts -- looks up in an agent's history the sources of the words in its files.
 *
 * The newest row counts: the file's own last version, or the row of a folder above it that was placed as a whole or that a
 * person trusts. A file below agents/<id>/ holds the words of that sub-agent, and what its own history says of the file.
 */

import { ifNotFound } from "./errors.ts";
import { holdsContent, type LastFileVersion } from "./ports/file-version.ts";
import type { Store } from "./ports/store.ts";
import { addSources, type OutsideSource } from "./provenance.ts";
import { splitSubagentPath } from "./subagents/folder.ts";

/** The newest change of a path. `at`: null until it is committed. */
export type LastChange = Pick<LastFileVersion, "operation" | "bytes" | "sha256" | "outside" | "seq" | "callId"> & {
  readonly at: string | null;
};

type FileHistory = Pick<Store, "lastFileVersion">;

/** The outside sources of a file's words, as its history records them. */
export interface FileWords {
  readonly outside: readonly OutsideSource[];
  /** ISO time of the newest row; "" without one. */
  readonly at: string;
}

/** Later than any ISO time: a row that is not committed yet. */
const NOT_COMMITTED = "~";

type LookUp = (path: string) => Promise<LastChange | undefined>;

/** Looks up the committed sources of a file's words. `trustedSeq`: the event up to which a person trusts all of them. */
export const sourcesOfFile = async (
  { agent, trustedSeq }: { readonly agent: string; readonly trustedSeq: number },
  path: string,
  history: FileHistory,
): Promise<readonly OutsideSource[]> => (await wordsOf(path, lookUpIn(agent, history), trustedSeq, history)).outside;

/** `lookUp` finds changes of this agent that are not committed yet, too. */
export async function wordsOf(
  path: string,
  lookUp: LookUp,
  trustedSeq: number,
  history: FileHistory,
): Promise<FileWords> {
  const newest = await findNewest(path, lookUp);
  const outside = newest && newest.seq > trustedSeq ? (newest.outside ?? []) : [];
  const own = { outside, at: newest ? (newest.at ?? NOT_COMMITTED) : "" };
  const { child, inner } = splitSubagentPath(path) ?? {};
  if (!child || !inner) return own;
  const theirs = await wordsOf(inner, lookUpIn(child, history), 0, history);
  if (newest?.operation === "trust" && own.at >= theirs.at) return own;
  const sources: readonly OutsideSource[] = [{ from: "agent", name: child }, ...theirs.outside];
  return { outside: addSources(own.outside, sources), at: own.at > theirs.at ? own.at : theirs.at };
}

/** The newest of a file's own last version and the rows of the folders above it. */
export async function findNewest(path: string, lookUp: LookUp): Promise<LastChange | undefined> {
  let newest = await lookUp(path);
  for (let end = path.lastIndexOf("/"); end > 0; end = path.lastIndexOf("/", end - 1)) {
    const above = await lookUp(path.slice(0, end));
    if (above && !holdsContent(above) && above.seq > (newest?.seq ?? 0)) newest = above;
  }
  return newest;
}

/** The history of a sub-agent that was removed is gone. */
const lookUpIn =
  (agent: string, history: FileHistory): LookUp =>
  (path) =>
    history.lastFileVersion(agent, path).catch(ifNotFound(undefined));
