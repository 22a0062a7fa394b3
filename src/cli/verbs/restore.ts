/** restore.ts -- `goald restore`: restores an agent's files to their versions after a step (host/restore-files.ts). */
import { EXIT, GoaldError } from "#core/errors.ts";
import { countNoun } from "#core/text.ts";
import { clean } from "#util/outside-text.ts";
import type { RestorePlan } from "#views/restore-plan.ts";
import { AGENT, flag, step } from "../option.ts";
import { type CliContext, formatCall, type GlobalOptions } from "../shared/context.ts";
import { findPaths } from "../shared/find-file.ts";
import { withReading } from "../shared/reading.ts";
import { steering } from "../shared/steering.ts";
import { defineVerb, HOST_CODES } from "../verb.ts";

export const verb = defineVerb({
  description:
    "restore an agent's files as they were after a step; the present ones are kept, and the last step brings them back. Files that goald did not write, clones, and the folders of sub-agents stay as they are",
  examples: [
    "goald restore foo --step 3 --dry-run",
    "goald restore foo --step 3",
    "goald restore foo --step 3 notes.md",
  ],
  arguments: [AGENT, { name: "[paths...]", about: "only these files, or files below these folders" }],
  options: {
    step: step("--step <number>", "restore the files after this step; 0 is before the first", 0),
    dryRun: flag("-n, --dry-run", "print what would change, and change nothing"),
  },
  exitCodes: { ...HOST_CODES, notFound: "no such agent, step or file" },
  run: ([agent = "", ...paths], options) => restore(agent, paths, options),
});

export interface RestoreOptions extends GlobalOptions {
  /** Files get their versions after it; 0 is before the first step. */
  readonly step?: number;
  readonly dryRun?: boolean;
}

export async function restore(name: string, given: readonly string[], options: RestoreOptions): Promise<number> {
  const { step, dryRun = false } = options;
  if (step === undefined)
    throw new GoaldError("GOALD_USAGE", "Expected --step.", { hint: "Such as: goald restore foo --step 3" });
  return steering(name, options, async ({ row, context, reach }) => {
    const paths = await findPaths(row.id, given, context);
    const plan = dryRun
      ? await withReading(context, (reading) => reading.restorePlan(row.id, step, paths))
      : await (await reach()).restore(row.id, { step, paths });
    tell(plan, given, context, dryRun);
    return EXIT.ok;
  });
}

function tell(plan: RestorePlan, paths: readonly string[], { output, home }: CliContext, dryRun: boolean): void {
  const { agent, step, lastStep, workspace, files, clones } = plan;
  if (output.json) {
    output.data(JSON.stringify({ agent, step, lastStep, dryRun, workspace, files, clones }));
    return;
  }
  for (const line of linesOf(plan, dryRun)) output.data(clean(line));
  const changed = files.filter(({ action }) => action !== "keep").length;
  const others = clones.length > 0 ? "other " : "";
  if (changed === 0) {
    output.say(`The ${others}files of ${agent} are as they were after step ${step}.`);
    return;
  }
  const kept = countNoun(files.length - changed, "file");
  const done = `${countNoun(changed, "file")} ${dryRun ? "to change" : "changed"}, ${kept} as before`;
  output.say(`${done}, in ${clean(workspace)}`);
  if (dryRun || step === lastStep) return;
  output.say(clean(`To take it back: ${formatCall(home, "restore", agent, "--step", `${lastStep}`, ...paths)}`));
}

function linesOf({ files, clones }: RestorePlan, dryRun: boolean): readonly string[] {
  const says = dryRun ? { write: "would write", remove: "would remove" } : { write: "written", remove: "removed" };
  return [
    ...clones.map(({ path, isThere }) =>
      isThere
        ? `not touched  ${path}/  a clone; its own git restores it, or delete it`
        : `not restored  ${path}/  a clone that is gone; clone it again`,
    ),
    ...files.flatMap(({ path, action, bytesNow, bytes }) =>
      action === "keep" ? [] : [`${says[action]}  ${path}  ${sizeOf(bytesNow)} to ${sizeOf(bytes)}`],
    ),
  ];
}

const sizeOf = (bytes: number | null): string => (bytes === null ? "no file" : countNoun(bytes, "byte"));
