/**
 * restore.ts -- `goald restore`: restores an agent's files and clones to a step, or takes that back (host/restore-files.ts).
 *
 * Refuses a running agent, which would lose its lease and write between the restored files.
 */

import { isHostHeld } from "#api/host-lock.ts";
import { openOwnStore, openSharedStore } from "#app/own-store.ts";
import { EXIT, GoaldError } from "#core/errors.ts";
import { countNoun } from "#core/text.ts";
import { clean } from "#util/clean.ts";
import type { AgentView } from "#views/agent-view.ts";
import type { RestorePlan } from "#views/restore-plan.ts";
import { HOST_CODES } from "../exit-codes.ts";
import { AGENT, flag, step } from "../option.ts";
import { type CliContext, formatCall, type GlobalOptions, openContext } from "../shared/context.ts";
import { findState } from "../shared/find.ts";
import { findFile } from "../shared/find-file.ts";
import { withReading } from "../shared/reading.ts";
import { defineVerb } from "../verb.ts";

export const verb = defineVerb({
  name: "restore",
  group: "Files of agents",
  summary: "restore files as they were after a step",
  description:
    "restore an agent's files and clones as they were after a step; the present ones are kept, and --undo takes it back. Files that goald did not write, and the folders of sub-agents, stay as they are",
  examples: [
    "goald restore foo --step 3 --dry-run",
    "goald restore foo --step 3",
    "goald restore foo --step 3 notes.md",
    "goald restore foo --undo",
  ],
  arguments: [AGENT, { name: "[paths...]", about: "only these files, or files below these folders" }],
  options: {
    step: step("--step <number>", "restore the files after this step; 0 is before the first", 0),
    undo: flag("--undo", "take the newest restoration back; once more: restore again"),
    force: flag("--force", "with --undo: also files that were changed since"),
    dryRun: flag("-n, --dry-run", "print what would change, and change nothing"),
  },
  exitCodes: {
    error: "failed, or a folder could not be restored; the others are",
    notFound: "no such agent, step or file, or nothing to take back",
    ...HOST_CODES,
  },
  run: ([agent = "", ...paths], options) => restore(agent, paths, options),
});

export interface RestoreOptions extends GlobalOptions {
  /** Files get their versions after it; 0 is before the first step. Absent with `undo`. */
  readonly step?: number;
  readonly undo?: boolean;
  readonly force?: boolean;
  readonly dryRun?: boolean;
}

export async function restore(name: string, given: readonly string[], options: RestoreOptions): Promise<number> {
  const step = requireTarget(given, options);
  const context = await openContext(options);
  try {
    const chosen = await choose(name, given, context);
    const { dryRun = false, force = false } = options;
    const plan = dryRun
      ? await withReading(context, (reading) => reading.restorePlan(chosen.view.id, step, chosen.paths))
      : await restoreHere(chosen, { step, isForced: force }, context);
    tell(plan, context, dryRun);
    return !dryRun && plan.folders.some(({ action }) => action === "cannot") ? EXIT.error : EXIT.ok;
  } finally {
    context.output.close();
  }
}

/** Null to take the newest restoration back. */
function requireTarget(paths: readonly string[], { step, undo = false, force = false }: RestoreOptions): number | null {
  const refuse = (problem: string): GoaldError =>
    new GoaldError("GOALD_USAGE", problem, {
      hint: "Such as: goald restore foo --step 3, or goald restore foo --undo",
    });
  if ((step === undefined) === !undo) throw refuse("Expected either --step or --undo.");
  if (undo && paths.length > 0) throw refuse("Expected no paths with --undo, which takes back a whole restoration.");
  if (force && !undo) throw refuse("Expected --force only with --undo.");
  return step ?? null;
}

interface Chosen {
  readonly view: AgentView;
  readonly paths: readonly string[];
}

const choose = (name: string, given: readonly string[], context: CliContext): Promise<Chosen> =>
  withReading(context, async (reading) => {
    const view = await reading.agent(name);
    if (view.state === "damaged")
      throw new GoaldError("GOALD_STORE_DAMAGED", `The log of ${view.id} cannot be read: ${view.reason}`, {
        hint: "Nothing was changed. See what is wrong: goald verify",
      });
    const found = await Promise.all(given.map((path) => findFile(name, path, reading, context.home)));
    return { view, paths: found.map(({ path }) => path) };
  });

interface Wanted {
  readonly step: number | null;
  readonly isForced: boolean;
}

/** Without `discarded` in a dry run. */
type Told = RestorePlan & { readonly discarded?: readonly string[] };

async function restoreHere({ view, paths }: Chosen, wanted: Wanted, context: CliContext): Promise<Told> {
  const { home, settings } = context;
  const isHosted = isHostHeld(home.lock);
  requireAtRest(view, isHosted);
  const { row } = await findState(view.id, context);
  await using own = isHosted ? await openSharedStore(home) : await openOwnStore(home);
  const { restoreAgent } = await import("#app/set-aside.ts");
  return await restoreAgent({ home, settings, store: own.store }, row, { ...wanted, paths });
}

function requireAtRest({ id, state }: AgentView, isHosted: boolean): void {
  if (!isHosted || !(state === "running" || state.startsWith("waiting"))) return;
  throw new GoaldError("GOALD_CONFLICT", `${id} is ${state}: its files cannot be restored now.`, {
    hint: `Pause it first: goald pause ${id}. To see what would change: --dry-run`,
  });
}

function tell(plan: Told, { output, home }: CliContext, dryRun: boolean): void {
  const { agent, step, workspace, files, folders, changedSince, discarded = [] } = plan;
  if (output.json) {
    output.data(JSON.stringify({ agent, step, dryRun, workspace, files, folders, changedSince, discarded }));
    return;
  }
  const work = files.filter(({ action }) => action !== "keep");
  const moved = folders.filter(({ action }) => action !== "keep");
  const when = step === null ? "before the newest restoration" : `after step ${step}`;
  if (work.length + moved.length === 0) {
    output.say(`The files of ${agent} are as they were ${when}.`);
    return;
  }
  for (const line of linesOf(plan, dryRun)) output.data(clean(line));
  const changed = [
    ...(moved.length > 0 ? [countNoun(moved.filter(({ action }) => action !== "cannot").length, "folder")] : []),
    countNoun(work.length, "file"),
  ];
  const kept = countNoun(files.length - work.length, "file");
  output.say(`${changed.join(" and ")} ${dryRun ? "to change" : "changed"}, ${kept} as before, in ${clean(workspace)}`);
  if (changedSince.length > 0 && dryRun)
    output.say(clean(`Changed since the newest restoration, so it needs --force: ${changedSince.join(", ")}`));
  if (discarded.length > 0)
    output.say(
      clean(`Discarded to stay within quota.folderMegabytes, and cannot be put back: ${discarded.join(", ")}`),
    );
  const isDone = work.length > 0 || moved.some(({ action }) => action !== "cannot");
  if (!dryRun && isDone) output.say(`To take it back: ${formatCall(home, "restore", agent, "--undo")}`);
}

function linesOf({ files, folders }: RestorePlan, dryRun: boolean): readonly string[] {
  const [write, remove, place, take] = dryRun
    ? ["would write", "would remove", "would put back", "would take away"]
    : ["written", "removed", "put back", "taken away"];
  const says = { place: `${place}  %/`, "take-away": `${take}  %/`, keep: "", cannot: "cannot be restored  %/  " };
  return [
    ...folders.map(({ path, action, reason }) => `${says[action].replace("%", () => path)}${reason}`),
    ...files.map(({ path, action, bytesNow, bytes }) =>
      action === "keep"
        ? ""
        : `${action === "write" ? write : remove}  ${path}  ${sizeOf(bytesNow)} to ${sizeOf(bytes)}`,
    ),
  ].filter((line) => line !== "");
}

const sizeOf = (bytes: number | null): string => (bytes === null ? "no file" : countNoun(bytes, "byte"));
