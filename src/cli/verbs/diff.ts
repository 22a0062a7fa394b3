/** diff.ts -- `goald diff` and `goald restore`: compares an agent's files between steps, and restores them. */
import { styleOfDiff } from "#cli/terminal/describe-call.ts";
import { printNote } from "#cli/terminal/print.ts";
import { EXIT } from "#core/errors.ts";
import { countNoun } from "#core/text.ts";
import { clean, showUnseen } from "#util/outside-text.ts";
import type { DiffView, FileDiff } from "#views/file-diff.ts";
import type { RestorePlan } from "#views/restore-plan.ts";
import { reading, withReading } from "../agents.ts";
import { type CliContext, formatCall } from "../context.ts";
import { AGENT, defineVerb, flag, HOST_CODES, step, usageError } from "../verb.ts";
import { shellWord } from "../verb-list.ts";
import { withAgent } from "../with-agent.ts";
import { findFile, findPaths } from "./files.ts";

export const DIFF = defineVerb({
  description: "compare an agent's files between two steps (default: the last change)",
  examples: [
    "goald diff chef",
    "goald diff chef --to 7",
    "goald diff chef notes.md --from 3 --to 9",
    "goald diff chef --from 0 --stat",
  ],
  arguments: [AGENT, { name: "[path]", about: "only this file, or files below this folder" }],
  options: {
    from: step("--from <step>", "compare with the files after this step, 0 for all (default: the step before --to)", 0),
    to: step("--to <step>", "show the files after this step (default: the last one)", 0),
    stat: flag("--stat", "print only the number of changed lines per file"),
  },
  exitCodes: { notFound: "no such agent, step or file" },
  run: ([agent = "", path], { from, to, stat, ...options }) =>
    reading(options, async (reading, context) => {
      const { id } = await reading.agent(agent);
      const paths = path === undefined ? [] : [(await findFile(agent, path, reading, context.home)).path];
      const named = { ...(from === undefined ? {} : { from }), ...(to === undefined ? {} : { to }) };
      const found = await reading.diff(id, { ...named, paths });
      show(found, from !== undefined || to !== undefined, context, stat === true);
      return EXIT.ok;
    }),
});

const LOOK = { indentOf: () => 1, styleOf: styleOfDiff, isExact: () => true };

/** `isNamed`: true when the person named a step. */
function show(found: DiffView, isNamed: boolean, { output }: CliContext, stat: boolean): void {
  if (output.printJson(found)) return;
  const { agent, from, to, files } = found;
  const between = to === null ? `since step ${from}` : `between the ends of step ${from} and step ${to}`;
  const isUntouched = !isNamed && from === 0 && to === null;
  if (files.length === 0)
    output.say(isUntouched ? `${agent} has not changed a file yet.` : `No file differs ${between}.`);
  for (const file of files)
    if (stat || file.patch === null) output.data(clean(statLine(file)));
    else output.page(showUnseen(file.patch).trimEnd(), LOOK);
  for (const { path, editedByPerson } of files)
    if (editedByPerson.length > 0)
      printNote(`This includes a person's edit of ${path}, found in step ${editedByPerson.join(", ")}.`);
  if (stat && files.length > 0) output.data(sumLine(files, between));
}

function statLine({ path, change, fromBytes, toBytes, added, removed, note }: FileDiff): string {
  const lines = added === null ? `${note}, ${fromBytes} to ${toBytes} bytes` : `+${added} -${removed}`;
  return `${change.padEnd(7)}  ${path}  ${lines}`;
}

function sumLine(diffs: readonly FileDiff[], between: string): string {
  const sum = (of: (diff: FileDiff) => number | null): number =>
    diffs.reduce((total, diff) => total + (of(diff) ?? 0), 0);
  return `${countNoun(diffs.length, "file")}, +${sum(({ added }) => added)} -${sum(({ removed }) => removed)} lines, ${between}`;
}

/** A host restores the files (host/restore-files.ts). */
export const RESTORE = defineVerb({
  description:
    "restore an agent's files as they were after a step; the present ones are kept, and the last step brings them back. Files that goald did not write, clones, and the folders of sub-agents stay as they are",
  examples: [
    "goald restore chef --step 3 --dry-run",
    "goald restore chef --step 3",
    "goald restore chef --step 3 notes.md",
  ],
  arguments: [AGENT, { name: "[paths...]", about: "only these files, or files below these folders" }],
  options: {
    step: step("--step <number>", "restore the files after this step; 0 is before the first", 0),
    dryRun: flag("-n, --dry-run", "print what would change, and change nothing"),
  },
  exitCodes: { ...HOST_CODES, notFound: "no such agent, step or file" },
  run: async ([agent = "", ...given], { step, dryRun = false, ...options }) => {
    if (step === undefined) throw usageError("Expected --step.", "Such as: goald restore chef --step 3");
    return withAgent(agent, options, async ({ row, context, reach }) => {
      const paths = await findPaths(row.id, given, context);
      const plan = dryRun
        ? await withReading(context, (reading) => reading.restorePlan(row.id, step, paths))
        : await (await reach()).restore(row.id, { step, paths });
      tell(plan, given.map(shellWord), context, dryRun);
      return EXIT.ok;
    });
  },
});

function tell(plan: RestorePlan, paths: readonly string[], { output, home }: CliContext, dryRun: boolean): void {
  const { agent, step, lastStep, workspace, files, clones } = plan;
  if (output.printJson({ agent, step, lastStep, dryRun, workspace, files, clones })) return;
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
