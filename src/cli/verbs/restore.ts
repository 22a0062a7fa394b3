/**
 * restore.ts -- `goald restore`: restores an agent's files to their versions after a step (host/restore-files.ts).
 *
 * Refuses a running agent, which would lose its lease and write between the restored files.
 */

import { isHostHeld } from "#api/host-lock.ts";
import { openOwnStore, openSharedStore } from "#app/own-store.ts";
import { EXIT, GoaldError } from "#core/errors.ts";
import { countNoun } from "#core/text.ts";
import { restoreFiles } from "#host/restore-files.ts";
import { clean } from "#util/clean.ts";
import { systemClock } from "#util/clock.ts";
import type { AgentView } from "#views/agent-view.ts";
import type { RestorePlan } from "#views/restore-plan.ts";
import { openLocalWorkspace } from "#workspace/local-workspace.ts";
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

/** `step`: files get their versions after it; 0 is before the first step. */
export async function restore(
  name: string,
  given: readonly string[],
  step: number,
  options: RestoreOptions,
): Promise<number> {
  const context = await openContext(options);
  try {
    const chosen = await choose(name, given, context);
    const plan = options.dryRun
      ? await withReading(context, (reading) => reading.restorePlan(chosen.view.id, step, chosen.paths))
      : await restoreHere(chosen, step, context);
    tell(chosen.view, plan, context, options.dryRun === true);
    return EXIT.ok;
  } finally {
    context.output.close();
  }
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

async function restoreHere({ view, paths }: Chosen, step: number, context: CliContext): Promise<RestorePlan> {
  const { home } = context;
  const isHosted = isHostHeld(home.lock);
  requireAtRest(view, isHosted);
  const { row } = await findState(view.id, context);
  await using own = isHosted ? await openSharedStore(home) : await openOwnStore(home);
  const opened = { store: own.store, clock: systemClock, openWorkspace: openLocalWorkspace };
  return await restoreFiles(row, { step, paths }, { ...opened, folder: view.workspace });
}

function requireAtRest({ id, state }: AgentView, isHosted: boolean): void {
  if (!isHosted || !(state === "running" || state.startsWith("waiting"))) return;
  throw new GoaldError("GOALD_CONFLICT", `${id} is ${state}: its files cannot be restored now.`, {
    hint: `Pause it first: goald pause ${id}. To see what would change: --dry-run`,
  });
}

function tell(view: AgentView, plan: RestorePlan, { output, home }: CliContext, dryRun: boolean): void {
  const { agent, step, workspace, files } = plan;
  const work = files.filter(({ action }) => action !== "keep");
  if (output.json) {
    output.data(JSON.stringify({ agent, step, dryRun, workspace, files }));
    return;
  }
  if (work.length === 0) {
    output.say(`The files of ${agent} are as they were after step ${step}.`);
    return;
  }
  const [write, remove] = dryRun ? ["would write", "would remove"] : ["written", "removed"];
  for (const { path, action, bytesNow, bytes } of work)
    output.data(clean(`${action === "write" ? write : remove}  ${path}  ${sizeOf(bytesNow)} to ${sizeOf(bytes)}`));
  const kept = countNoun(files.length - work.length, "file");
  output.say(
    `${countNoun(work.length, "file")} ${dryRun ? "to change" : "changed"}, ${kept} as before, in ${clean(workspace)}`,
  );
  if (!dryRun && step < view.step)
    output.say(`To take it back: ${formatCall(home, "restore", agent, "--step", `${view.step}`)}`);
}

const sizeOf = (bytes: number | null): string => (bytes === null ? "no file" : countNoun(bytes, "byte"));
