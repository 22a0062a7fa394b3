/**
 * file-sources.ts -- looks up whose words the files of an agent hold, and marks what a call wrote.
 *
 * The newest row counts: the file's own last version, or the row of a folder above it that was placed as a whole or that a
 * person trusts. A file below agents/<id>/ holds the words of that sub-agent, and what its own history says of the file.
 */
import type { FileSources } from "#commands/track-sources.ts";
import { isGoaldError } from "#core/errors.ts";
import type { CommittedFile, StagedWrite } from "#core/ports/commit.ts";
import { type FileChange, holdsContent } from "#core/ports/file-version.ts";
import type { Store } from "#core/ports/store.ts";
import { addSources, type OutsideSource, outsideOf, withSources } from "#core/provenance.ts";
import type { Journal, LastChange } from "./journal.ts";

export type FileHistory = Pick<Store, "lastFileVersion" | "outsideBelow">;

/** What the history says of the words in a file. */
interface FileWords {
  readonly outside: readonly OutsideSource[];
  /** ISO time of the newest row; "" without one. */
  readonly at: string;
}

/** Later than any ISO time: a row that is not committed yet. */
const NOT_COMMITTED = "~";

type LookUp = (path: string) => Promise<LastChange | undefined>;

export function openFileSources(journal: Journal, history: FileHistory): FileSources {
  const { agent } = journal.lease;
  const { trustedSeq } = journal.state;
  const own = (path: string): Promise<FileWords> => wordsOf(path, journal.lastFileVersion, trustedSeq, history);
  return {
    ofFile: async (path) => (await own(path)).outside,
    ofFolder: async (path) => {
      const above = path === "" ? [] : (await own(path)).outside;
      const below = (await history.outsideBelow(agent, path, trustedSeq)).flat();
      return addSources(addSources(above, below), await sourcesOfSubagent(path, history));
    },
  };
}

async function wordsOf(path: string, lookUp: LookUp, trustedSeq: number, history: FileHistory): Promise<FileWords> {
  const newest = await findNewest(path, lookUp);
  const outside = newest && newest.seq > trustedSeq ? (newest.outside ?? []) : [];
  const own = { outside, at: newest ? (newest.at ?? NOT_COMMITTED) : "" };
  const [, child, inner] = SUBAGENT_PATH.exec(path) ?? [];
  if (child === undefined || inner === undefined) return own;
  const theirs = await wordsOf(inner, lookUpIn(child, history), 0, history);
  if (newest?.operation === "trust" && own.at >= theirs.at) return own;
  const sources: readonly OutsideSource[] = [{ from: "agent", name: child }, ...theirs.outside];
  return { outside: addSources(own.outside, sources), at: own.at > theirs.at ? own.at : theirs.at };
}

const SUBAGENT_PATH = /^agents\/([^/]+)\/(.+)$/;

async function findNewest(path: string, lookUp: LookUp): Promise<LastChange | undefined> {
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
    history.lastFileVersion(agent, path).catch(ifRemoved(undefined));

const ifRemoved =
  <T>(nothing: T) =>
  (error: unknown): T => {
    if (isGoaldError(error, "GOALD_NOT_FOUND")) return nothing;
    throw error;
  };

/** Sources of all files of the sub-agent whose folder holds this one; none for another folder. */
async function sourcesOfSubagent(folder: string, history: FileHistory): Promise<readonly OutsideSource[]> {
  const [, child, inner = ""] = /^agents\/([^/]+)(?:\/(.*))?$/.exec(folder) ?? [];
  if (child === undefined) return [];
  const below = await history.outsideBelow(child, inner, 0).catch(ifRemoved([]));
  const deeper = await sourcesOfSubagent(inner, history);
  return addSources([{ from: "agent", name: child }], [...below.flat(), ...deeper]);
}

/**
 * Marks the files that a call changed with all that the agent and the call have received. In `prepare` a command only keeps what
 * others wrote: it carries what the last version carried.
 */
export async function markFiles(
  files: readonly FileChange[],
  of: { readonly step: number; readonly callId: string },
  sources: FileSources,
  received: readonly OutsideSource[] | "prepare",
): Promise<readonly CommittedFile[]> {
  return Promise.all(
    files.map(async (file): Promise<CommittedFile> => {
      const carried = received === "prepare" ? await sources.ofFile(file.path) : received;
      return { ...file, ...of, ...(file.operation === "delete" ? {} : outsideOf(carried)) };
    }),
  );
}

/** What a command stages carries what the agent and the call received; words to another agent are words of this one. */
export function markStaged(write: StagedWrite, outside: readonly OutsideSource[], self: string): StagedWrite {
  if (write.kind === "memory") return { ...write, ...outsideOf(outside) };
  if ((write.kind !== "send" && write.kind !== "timer") || write.message.type !== "answer") return write;
  const sender: readonly OutsideSource[] =
    write.kind === "send" && write.to !== self ? [{ from: "agent", name: self }] : [];
  const observation = withSources(write.message.observation, addSources(sender, outside));
  return { ...write, message: { ...write.message, observation } };
}
