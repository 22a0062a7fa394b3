/** diff.ts -- `goald diff`: what changed in an agent's files between two steps; by default in the last step that changed any. */
import { EXIT, GoaldError } from "#core/errors.ts";
import type { FileVersion } from "#core/ports/file-version.ts";
import { clean } from "#util/clean.ts";
import { showUnseen } from "#util/unseen.ts";
import { type DiffRange, diffFiles, type FileDiff, lastChangingStep } from "#views/file-diff.ts";
import { findAgent, stateOf } from "#views/load-agent.ts";
import { requireTaken } from "#views/require-taken.ts";
import { AGENT, flag, step } from "../option.ts";
import { type CliContext, counted, type GlobalOptions } from "../shared/context.ts";
import { findFile } from "../shared/find-file.ts";
import { reading } from "../shared/reading.ts";
import { defineVerb } from "../verb.ts";

export const verb = defineVerb({
  name: "diff",
  group: "Files of agents",
  summary: "compare files between two steps",
  description: "compare an agent's files between two steps (default: the last step that changed any)",
  examples: [
    "goald diff foo",
    "goald diff foo --to 7",
    "goald diff foo notes.md --from 3 --to 9",
    "goald diff foo --from 0 --stat",
  ],
  arguments: [AGENT, { name: "[path]", about: "only this file, or files below this folder" }],
  options: {
    from: step("--from <step>", "compare with the files after this step (default: the step before --to)", 0),
    to: step("--to <step>", "show the files after this step (default: the last one)", 0),
    stat: flag("--stat", "print only the number of changed lines per file"),
  },
  exitCodes: { notFound: "no such agent, step or file" },
  run: ([agent = "", path], options) => diff(agent, path, options),
});

export interface DiffOptions extends GlobalOptions {
  readonly from?: number;
  readonly to?: number;
  readonly stat?: boolean;
}

export async function diff(name: string, path: string | undefined, options: DiffOptions): Promise<number> {
  return reading(options, async (reader, context) => {
    const row = await findAgent(reader, name);
    const paths = path === undefined ? [] : [(await findFile(name, path, reader, context)).path];
    const versions = await reader.files(row.id);
    requireKnown(paths, versions, row.id);
    const { step } = await stateOf(reader, row);
    const range = rangeOf(options, versions, paths);
    for (const end of [options.from, options.to]) if (end !== undefined) requireTaken(end, step, row.id);
    const diffs = range ? await diffFiles(versions, range, reader) : [];
    show(diffs, range, row.id, context, options.stat === true);
    return EXIT.ok;
  });
}

/** Undefined when nothing was ever changed and no step was named. */
function rangeOf(
  { from, to }: DiffOptions,
  versions: readonly FileVersion[],
  paths: readonly string[],
): DiffRange | undefined {
  if (from !== undefined && to !== undefined && from > to)
    throw new GoaldError("GOALD_USAGE", `Expected --from before --to, got ${from} and ${to}.`, {
      hint: `What was undone since: goald diff … --from ${to} --to ${from}`,
    });
  if (from !== undefined) return { from, to: to ?? Number.POSITIVE_INFINITY, paths };
  const last = to ?? lastChangingStep(versions, paths);
  return last === undefined ? undefined : { from: Math.max(0, last - 1), to: last, paths };
}

export function requireKnown(paths: readonly string[], versions: readonly FileVersion[], agent: string): void {
  const unknown = paths.find((name) => !versions.some(({ path }) => path === name || path.startsWith(`${name}/`)));
  if (unknown !== undefined)
    throw new GoaldError(
      "GOALD_NOT_FOUND",
      `Expected a file or folder that ${agent} wrote, got ${JSON.stringify(unknown)}.`,
      {
        hint: `What it wrote: goald files ${agent}`,
      },
    );
}

function show(
  diffs: readonly FileDiff[],
  range: DiffRange | undefined,
  agent: string,
  { output }: CliContext,
  stat: boolean,
): void {
  const to = range && Number.isFinite(range.to) ? range.to : null;
  if (output.json) {
    output.data(JSON.stringify({ agent, from: range?.from ?? 0, to, files: diffs }));
    return;
  }
  const between = to === null ? `since step ${range?.from}` : `between the ends of step ${range?.from} and step ${to}`;
  if (diffs.length === 0) output.say(range ? `No file differs ${between}.` : `${agent} has not changed a file yet.`);
  for (const file of diffs)
    if (stat || file.patch === null) output.data(clean(statLine(file)));
    else output.data(showUnseen(file.patch).trimEnd());
  for (const { path, editedByPerson } of diffs)
    if (editedByPerson.length > 0)
      console.error(clean(`A person's edit of ${path}, found in step ${editedByPerson.join(", ")}, is part of this.`));
  if (stat && diffs.length > 0) output.data(sumLine(diffs, between));
}

function statLine({ path, change, fromBytes, toBytes, added, removed, note }: FileDiff): string {
  const lines = added === null ? `${note}, ${fromBytes} to ${toBytes} bytes` : `+${added} -${removed}`;
  return `${change.padEnd(7)}  ${path}  ${lines}`;
}

function sumLine(diffs: readonly FileDiff[], between: string): string {
  const sum = (of: (diff: FileDiff) => number | null): number =>
    diffs.reduce((total, diff) => total + (of(diff) ?? 0), 0);
  return `${counted(diffs.length, "file")}, +${sum(({ added }) => added)} -${sum(({ removed }) => removed)} lines, ${between}`;
}
