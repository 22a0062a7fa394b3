/** file-sources.ts -- looks up the sources of the words in an agent's files, and marks the files that a call wrote. */
import type { FileSources } from "#commands/track-sources.ts";
import { ifNotFound } from "#core/errors.ts";
import type { OfCall } from "#core/event.ts";
import type { CommittedFile, FileChange, StagedWrite, Store } from "#core/ports/store.ts";
import { addSources, type FileWords, type OutsideSource, outsideOf, withSources, wordsOf } from "#core/provenance.ts";
import { splitSubagentPath } from "#core/subagent.ts";
import type { Journal } from "./journal.ts";

export type FileHistory = Pick<Store, "lastFileVersion" | "outsideBelow">;

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

/** Sources of all files of the sub-agent whose folder holds this one; none for another folder. */
async function sourcesOfSubagent(folder: string, history: FileHistory): Promise<readonly OutsideSource[]> {
  const { child, inner } = splitSubagentPath(folder) ?? {};
  if (child === undefined || inner === undefined) return [];
  const below = await history.outsideBelow(child, inner, 0).catch(ifNotFound([]));
  const deeper = await sourcesOfSubagent(inner, history);
  return addSources([{ from: "agent", name: child }], [...below.flat(), ...deeper]);
}

/**
 * Marks the files that a call changed with all that the agent and the call have received. In `prepare` a command only keeps what
 * others wrote: it carries what the last version carried.
 */
export async function markFiles(
  files: readonly FileChange[],
  of: OfCall,
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

/** Marks staged changes with the sources that agent and call received. Messages to other agents are this agent's words. */
export function markStaged(write: StagedWrite, outside: readonly OutsideSource[], self: string): StagedWrite {
  if (write.kind === "memory") return { ...write, ...outsideOf(outside) };
  if ((write.kind !== "send" && write.kind !== "timer") || write.message.type !== "answer") return write;
  const sender: readonly OutsideSource[] =
    write.kind === "send" && write.to !== self ? [{ from: "agent", name: self }] : [];
  const observation = withSources(write.message.observation, addSources(sender, outside));
  return { ...write, message: { ...write.message, observation } };
}
