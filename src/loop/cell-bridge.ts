/**
 * cell-bridge.ts -- what the code of a cell reaches: commands and sub-tasks as nested work of its call, and the agent's
 * files.
 *
 * Files are read through the workspace of the call. What the code changed is saved by one nested call of `save_files`.
 * A file that others run is saved by `write_to_file`, which asks as it does for the model.
 */
import { hash } from "node:crypto";
import { codeOfError } from "#commands/execute.ts";
import type { ReplyForm } from "#core/agent-settings.ts";
import type { Observation } from "#core/call.ts";
import type { CommandContext } from "#core/command.ts";
import { isGoaldError } from "#core/errors.ts";
import { findAskedRow, listAsked } from "#core/guarded-files.ts";
import type { CellBridge, CellFile, CellFileChange, CellReply } from "#core/ports/sandbox.ts";
import type { Workspace } from "#core/ports/workspace.ts";
import { headOf } from "#core/text.ts";
import { rememberBy } from "#util/caches.ts";
import { decodeUtf8 } from "#util/media-format.ts";
import type { CellParts } from "./cells.ts";
import type { CommandSet } from "./command-set.ts";
import { type RecordedNestedWork, subtaskProblem } from "./nested-work.ts";

/** Each file that a cell changed is named in the log. */
const MAX_SAVED_FILES = 10_000;

/** The files that the cell has saved so far. */
export interface SavedFiles {
  readonly paths: Set<string>;
  /** Sentences for the cell's result. */
  readonly notes: string[];
}

interface BridgeParts {
  readonly context: CommandContext;
  readonly commands: CommandSet;
  readonly files: SavedFiles;
  readonly nested: RecordedNestedWork | undefined;
  readonly cells: CellParts;
}

export function openCellBridge(parts: BridgeParts): CellBridge {
  const { context, commands, nested } = parts;
  const { workspace } = context;
  return {
    call: async (name, args) => {
      const call = commands.callable.functions.callOf(name, args);
      const unknown = { code: "no-such-command", text: `There is no command ${name}.` };
      if (!call) return { error: unknown, changesFiles: false };
      const observation = await context.call(call.name, call.args);
      const facts = commands.get(call.name);
      return { ...replyOf(observation), changesFiles: facts?.annotations.readOnly !== true };
    },
    run: async (task, returns, form) => {
      try {
        const value = await context.run(task, returns, (form ?? undefined) as ReplyForm | undefined);
        const change = await nested?.changeOfLast();
        return { value, ...(change ? { change } : {}) };
      } catch (error) {
        const problem = subtaskProblem(error);
        if (!problem) throw error;
        const change = await nested?.changeOfLast();
        return { error: problem, ...(change ? { change } : {}) };
      }
    },
    ...openCellFiles(workspace),
    saveFiles: (changes) => saveFiles(changes, parts),
    show: parts.cells.onPrinted,
  };
}

function replyOf({ status, code, text, value }: Observation): CellReply<unknown> {
  if (status === "ok") return { value: value ?? headOf(text) };
  return { error: { code: code ?? status, text: headOf(text) } };
}

type Changes = ReadonlyMap<string, Uint8Array | null>;
/** Contents that cells pass to their nested calls of `save_files`, by the id of the cell's call. */
const handedOver = rememberBy((_parts: CellParts) => new Map<string, Changes>());

/** For the call c7.2 of the cell c7. */
export const changesFor = (callId: string, parts: CellParts): Changes =>
  handedOver(parts).get(callId.replace(/\.\d+$/, "")) ?? new Map();

async function saveFiles(changes: readonly CellFileChange[], parts: BridgeParts): Promise<CellReply<null>> {
  if (changes.length > MAX_SAVED_FILES)
    return {
      error: {
        code: "too-many-files",
        text: `Code may change ${MAX_SAVED_FILES} files at once, not ${changes.length}.`,
      },
    };
  const asked = changes.flatMap((change) => askedChange(change) ?? []);
  const plain = changes.filter((change) => !asked.some(({ path }) => path === change.path));
  let error = plain.length === 0 ? undefined : await savePlain(plain, parts);
  for (const { path, text } of asked) {
    if (text === undefined)
      error ??= {
        code: "path-refused",
        text: `${path} was not written: others run it, so a person decides about it, and it is no text that a person can read.`,
      };
    else error ??= noteSaved(await parts.context.call("write_to_file", { file: path, text }), parts.files);
  }
  return error ? { error } : { value: null };
}

/** A file that a person must be asked about, with its text. */
function askedChange({ path, bytes }: CellFileChange): { readonly path: string; readonly text?: string } | undefined {
  if (bytes === null || !findAskedRow(path)) return undefined;
  const text = decodeUtf8(bytes);
  if (text === undefined) return { path };
  return listAsked({ path, text }, { path: "text" }).length > 0 ? { path, text } : undefined;
}

async function savePlain(changes: readonly CellFileChange[], { context, cells, files }: BridgeParts) {
  const handed = handedOver(cells);
  handed.set(context.callId, new Map(changes.map(({ path, bytes }) => [path, bytes])));
  try {
    const listed = changes.map(({ path, bytes }) =>
      bytes === null ? { path, removed: true } : { path, sha256: hash("sha256", bytes), bytes: bytes.length },
    );
    return noteSaved(await context.call("save_files", { files: listed }), files);
  } finally {
    handed.delete(context.callId);
  }
}

/** Returns the error for the code. */
function noteSaved(observation: Observation, { paths, notes }: SavedFiles) {
  for (const path of observation.artifacts) paths.add(path);
  const [, ...further] = headOf(observation.text).split("\n");
  if (observation.status === "ok") notes.push(...further);
  const reply = replyOf(observation);
  return "error" in reply ? reply.error : undefined;
}

const MAX_LISTED_FILES = 10_000;
const OUTPUTS = "_goald/outputs";

export const openCellFiles = (workspace: Workspace): Pick<CellBridge, "listFiles" | "readFile"> => ({
  listFiles: async () => {
    const files: CellFile[] = [];
    for await (const { path, bytes, modifiedAt, inode = 0 } of workspace.list("", isShown)) {
      if (files.length === MAX_LISTED_FILES) return { files, isComplete: false };
      files.push({ path, bytes, stamp: `${modifiedAt} ${bytes} ${inode}` });
    }
    return { files, isComplete: true };
  },
  readFile: async (path) => {
    try {
      return { value: await workspace.read(path) };
    } catch (error) {
      return asProblem(error);
    }
  },
});

/** goald's own files, but the long outputs of commands, are not for code. */
const isShown = (folder: string): boolean =>
  folder === "_goald" || folder === OUTPUTS || folder.startsWith(`${OUTPUTS}/`) || !folder.startsWith("_goald/");

/** Throws what code must not catch. */
function asProblem(error: unknown): CellReply<never> {
  if (!isGoaldError(error) || error.code === "GOALD_STORE_FULL") throw error;
  const { message, hint } = error;
  return { error: { code: codeOfError(error), text: hint ? `${message} ${hint}` : message } };
}
