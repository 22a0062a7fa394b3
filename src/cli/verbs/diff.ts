/**
 * diff.ts -- `goald diff`: shows changes in an agent's files between two steps; by default in the last step that
 * changed any.
 */

import { printNote } from "#cli/terminal/print.ts";
import { EXIT } from "#core/errors.ts";
import { countNoun } from "#core/text.ts";
import { clean, showUnseen } from "#util/outside-text.ts";
import type { DiffView, FileDiff } from "#views/file-diff.ts";
import { AGENT, flag, step } from "../option.ts";
import type { CliContext, GlobalOptions } from "../shared/context.ts";
import { findFile } from "../shared/find-file.ts";
import { reading } from "../shared/reading.ts";
import { defineVerb } from "../verb.ts";

export const verb = defineVerb({
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
  return reading(options, async (reading, context) => {
    const { id } = await reading.agent(name);
    const paths = path === undefined ? [] : [(await findFile(name, path, reading, context.home)).path];
    const { from, to } = options;
    const found = await reading.diff(id, {
      ...(from === undefined ? {} : { from }),
      ...(to === undefined ? {} : { to }),
      paths,
    });
    show(found, from !== undefined || to !== undefined, context, options.stat === true);
    return EXIT.ok;
  });
}

/** `isNamed`: true when the person named a step. */
function show(found: DiffView, isNamed: boolean, { output }: CliContext, stat: boolean): void {
  if (output.json) {
    output.data(JSON.stringify(found));
    return;
  }
  const { agent, from, to, files } = found;
  const between = to === null ? `since step ${from}` : `between the ends of step ${from} and step ${to}`;
  if (files.length === 0)
    output.say(isNamed || to !== null ? `No file differs ${between}.` : `${agent} has not changed a file yet.`);
  for (const file of files)
    if (stat || file.patch === null) output.data(clean(statLine(file)));
    else output.data(showUnseen(file.patch).trimEnd());
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
