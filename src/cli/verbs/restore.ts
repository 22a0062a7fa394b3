/**
 * restore.ts -- `goald restore`: an agent's files as they were after a step.
 *
 * A person's act that can be taken back: what lies there now is kept in the history before it is replaced or removed, and
 * the restoration is recorded as changes of its own, with a message that the agent reads. All of that is durable before
 * the first file is touched, so a crash in between loses nothing, and the same call again does the rest.
 *
 * It needs the right to append to the agent's log, which it claims: an agent at work is refused, never cut off.
 */

import type { AgentView } from "#api/control.ts";
import { EXIT, GoaldError, isGoaldError } from "#core/errors.ts";
import { EVENT_VERSION, type RecordedEvent } from "#core/event.ts";
import type { AgentRow } from "#core/ports/agent.ts";
import type { Commit } from "#core/ports/commit.ts";
import type { FileChange, FileVersion } from "#core/ports/file-version.ts";
import type { Store } from "#core/ports/store.ts";
import type { Workspace } from "#core/ports/workspace.ts";
import { STATE_VERSION } from "#core/state.ts";
import { sha256 } from "#store/chain.ts";
import { isHostHeld } from "#store/host-lock.ts";
import { openSqliteStore } from "#store/sqlite-store.ts";
import { clean } from "#util/clean.ts";
import { systemClock } from "#util/clock.ts";
import { findAgent } from "#views/load-agent.ts";
import { requireTaken } from "#views/require-taken.ts";
import { describeRestored, type PlannedFile, planRestore } from "#views/restore-plan.ts";
import { byPath, RESTORE_CALL, restoreVersion } from "#views/restore-version.ts";
import { openLocalWorkspace } from "#workspace/local-workspace.ts";
import { HOST_CODES } from "../exit-codes.ts";
import { AGENT, flag, step } from "../option.ts";
import { type CliContext, counted, formatCall, type GlobalOptions, openContext } from "../shared/context.ts";
import { findFile } from "../shared/find-file.ts";
import { holdLock } from "../shared/hold-lock.ts";
import { folderOf, readStore, viewAgents } from "../shared/reading.ts";
import { defineVerb } from "../verb.ts";
import { requireKnown } from "./diff.ts";

export const verb = defineVerb({
  name: "restore",
  group: "Files of agents",
  summary: "restore files as they were after a step",
  description: "restore an agent's files as they were after a step; the present ones stay in the history",
  examples: [
    "goald restore foo --step 3 --dry-run",
    "goald restore foo --step 3",
    "goald restore foo --step 3 notes.md",
  ],
  arguments: [AGENT, { name: "[paths...]", about: "only these files, or files below these folders" }],
  options: {
    step: {
      ...step("--step <number>", "restore the files after this step; 0 is before the first", 0),
      isRequired: true,
    },
    dryRun: flag("-n, --dry-run", "print what would change, and change nothing"),
  },
  exitCodes: { notFound: "no such agent, step or file", ...HOST_CODES },
  run: ([agent = "", ...paths], { step = 0, ...options }) => restore(agent, paths, step, options),
});

export interface RestoreOptions extends GlobalOptions {
  readonly dryRun?: boolean;
}

/** More than that is not taken into memory at once. */
const MAX_BYTES = 256 * 1024 * 1024;

/** `step`: after which the files are put back; 0 is before the first. */
export async function restore(
  name: string,
  given: readonly string[],
  step: number,
  options: RestoreOptions,
): Promise<number> {
  const context = await openContext(options);
  try {
    const chosen = await choose(name, given, step, context);
    if (options.dryRun) {
      const plan = await readStore(context, (reader) => planOf(chosen, reader, context));
      say(chosen, plan, context, true);
      return EXIT.ok;
    }
    const isHosted = isHostHeld(context.home.lock);
    requireAtRest(chosen.view, isHosted);
    using _lock = isHosted ? undefined : holdLock(context);
    const store = await openSqliteStore(context.home.database);
    try {
      const plan = await planOf(chosen, store, context);
      await carryOut(chosen, plan, store, context);
      say(chosen, plan, context, false);
      return EXIT.ok;
    } finally {
      await store.close();
    }
  } finally {
    context.output.close();
  }
}

interface Chosen {
  readonly row: AgentRow;
  readonly view: AgentView;
  /** After which the files are put back. */
  readonly step: number;
  readonly paths: readonly string[];
}

const choose = (name: string, given: readonly string[], step: number, context: CliContext): Promise<Chosen> =>
  readStore(context, async (reader) => {
    const row = await findAgent(reader, name);
    const [view] = await viewAgents(reader, context, [row]);
    if (!view || view.state === "damaged")
      throw new GoaldError(
        "GOALD_STORE_DAMAGED",
        `The log of ${row.id} cannot be read: ${view?.reason ?? "it is gone"}`,
        {
          hint: "Nothing was changed. See what is wrong: goald verify",
        },
      );
    requireTaken(step, view.step, row.id);
    const found = await Promise.all(given.map((path) => findFile(name, path, reader, context)));
    const paths = found.map(({ path }) => path);
    requireKnown(paths, await reader.files(row.id), row.id);
    return { row, view, step, paths };
  });

/** An agent that a host runs would write between the files that are put back, and lose its right to its own log. */
function requireAtRest({ id, state }: AgentView, isHosted: boolean): void {
  if (!isHosted || !(state === "running" || state.startsWith("waiting"))) return;
  throw new GoaldError("GOALD_CONFLICT", `${id} is at work (${state}): its files are not put back under its hands.`, {
    hint: `Pause it first: goald pause ${id}. Only to see what would be done: --dry-run`,
  });
}

async function planOf({ row, step, paths }: Chosen, reader: Pick<Store, "files" | "blob">, context: CliContext) {
  const workspace = openLocalWorkspace(folderOf(context, row));
  const plan = await planRestore(await reader.files(row.id), { step, paths }, reader, workspace);
  const bytes = plan.reduce((sum, { content, bytesNow }) => sum + (content?.length ?? 0) + (bytesNow ?? 0), 0);
  if (bytes > MAX_BYTES)
    throw new GoaldError(
      "GOALD_FILE_TOO_LARGE",
      `Expected at most ${MAX_BYTES} bytes to put back at once, found ${bytes}.`,
      {
        hint: "Name some of the files or folders, and the others after that.",
      },
    );
  return plan;
}

async function carryOut(
  chosen: Chosen,
  plan: readonly PlannedFile[],
  store: Store,
  context: CliContext,
): Promise<void> {
  const work = plan.filter(({ action }) => action !== "keep");
  if (work.length === 0) return;
  const { id } = chosen.row;
  const lease = await store.claim(id);
  const { head } = await store.load(id, STATE_VERSION);
  const at = systemClock.now().toISOString();
  const kept: FileChange[] = [];
  const workspace = openLocalWorkspace(folderOf(context, chosen.row), (change) => kept.push(change), {
    lastVersion: (path) => store.lastFileVersion(id, path),
  });
  for (const { path } of work) await workspace.preserve(path);
  const edited = await withoutKnown(kept, await store.files(id), store);
  const of = { step: chosen.view.step, callId: `${RESTORE_CALL}${at}` };
  const files: Commit["files"] = [...edited, ...work.map(changeOf)].map((change) => ({ ...change, ...of }));
  const event = messageOf(chosen, work, { seq: head + 1, at });
  const nothing = { consumed: [], memories: [], blobs: [], staged: [] };
  await store.commit(lease, head, { ...nothing, events: [event], files });
  await touch(work, openLocalWorkspace(folderOf(context, chosen.row)), chosen);
}

/** What the history ends with is no edit of a person. (After an append its last entry is a piece, which tells nothing of the whole.) */
async function withoutKnown(
  kept: readonly FileChange[],
  versions: readonly FileVersion[],
  store: Pick<Store, "blob">,
): Promise<readonly FileChange[]> {
  const edited: FileChange[] = [];
  const known = byPath(versions);
  for (const change of kept) {
    const last = await restoreVersion(known.get(change.path) ?? [], store);
    if (last === null || sha256(last) !== change.sha256) edited.push(change);
  }
  return edited;
}

function changeOf({ path, content }: PlannedFile): FileChange {
  if (content === null) return { path, operation: "delete", bytes: 0, sha256: null, content };
  return { path, operation: "write", bytes: content.length, sha256: sha256(content), content };
}

async function touch(work: readonly PlannedFile[], workspace: Workspace, { row, step }: Chosen): Promise<void> {
  for (const { path, content } of work)
    try {
      if (content === null) await workspace.remove(path);
      else await workspace.write(path, content);
    } catch (thrown) {
      if (!isGoaldError(thrown)) throw thrown;
      const hint = `${thrown.hint} Nothing is lost: the same call again does the rest (goald restore ${row.id} --step ${step}).`;
      throw new GoaldError(thrown.code, `${path} could not be put back: ${thrown.message}`, {
        hint: hint.trim(),
        cause: thrown,
      });
    }
}

/** Tells the agent, whose memories of its files are out of date now. */
function messageOf(
  { step }: Chosen,
  work: readonly PlannedFile[],
  stamp: { readonly seq: number; readonly at: string },
): RecordedEvent {
  const text = describeRestored(step, work);
  return { v: EVENT_VERSION, frame: 0, ...stamp, type: "message-received", from: "person", text };
}

function say({ row, view, step }: Chosen, plan: readonly PlannedFile[], context: CliContext, dryRun: boolean): void {
  const { output, home } = context;
  const files = plan.map(({ path, action, content, bytesNow }) => ({
    path,
    action,
    bytesNow,
    bytes: content?.length ?? null,
  }));
  const work = files.filter(({ action }) => action !== "keep");
  if (output.json) {
    output.data(JSON.stringify({ agent: row.id, step, dryRun, workspace: view.workspace, files }));
    return;
  }
  if (work.length === 0) {
    output.say(`The files of ${row.id} are as they were after step ${step}.`);
    return;
  }
  const [write, remove] = dryRun ? ["would write", "would remove"] : ["written", "removed"];
  for (const { path, action, bytesNow, bytes } of work)
    output.data(clean(`${action === "write" ? write : remove}  ${path}  ${sizeOf(bytesNow)} to ${sizeOf(bytes)}`));
  const kept = counted(files.length - work.length, "file");
  output.say(
    `${counted(work.length, "file")} ${dryRun ? "to change" : "changed"}, ${kept} as before, in ${clean(view.workspace)}`,
  );
  if (!dryRun && step < view.step)
    output.say(`To take it back: ${formatCall(home, "restore", row.id, "--step", `${view.step}`)}`);
}

const sizeOf = (bytes: number | null): string => (bytes === null ? "no file" : counted(bytes, "byte"));
