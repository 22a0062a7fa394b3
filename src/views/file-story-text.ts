/** file-story-text.ts -- formats why a file exists: its last version in full, earlier versions in short. Pure. */
import { SAVES_FILES } from "#core/command-names.ts";
import { describeReceived, listSources } from "#core/provenance.ts";
import { oneLine } from "#core/text.ts";
import { escapeUnseenInJson } from "#util/outside-text.ts";
import type { FileStory } from "./file-story.ts";
import type { Source } from "./sources.ts";

type Version = FileStory["versions"][number];

export function describeFileStory({ agent, name, path, workspace, trusted, versions }: FileStory): string {
  const last = versions.at(-1);
  if (!last) return "";
  const is = last.operation === "delete" ? "deleted" : `${last.bytes} bytes`;
  const lines = [
    `${path} (${is}), of ${name} (${agent}), in ${workspace}`,
    ...trusted.map(({ at }) => `Trusted by a person at ${at}: all words from outside that ${name} had read by then`),
    "",
    "Goals",
    ...last.goals.map((goal, index) => `  ${index + 1}. ${goal}`),
    "",
    headOf(last, versions.length),
    ...bodyOf(last),
  ];
  const earlier = versions.slice(0, -1).toReversed();
  if (earlier.length > 0) lines.push("", "Before that");
  for (const story of earlier) {
    const read = story.sources.length > 0 ? ` after ${story.sources.length + story.sourcesLeftOut} sources` : "";
    lines.push(`  ${headOf(story, versions.length)}${read}`);
    if (story.thought !== "") lines.push(`    ${oneLine(story.thought, 200)}`);
  }
  return lines.join("\n");
}

function headOf({ version, step, at, operation, by, command, cell }: Version, count: number): string {
  const did = cell?.command ?? command?.name ?? "a command";
  const what = by === "agent" ? `${operation} by ${did}` : PERSON_DID[operation];
  return `Version ${version} of ${count}: step ${step}, ${at}, ${what}`;
}

const PERSON_DID: Readonly<Record<Version["operation"], string>> = {
  found: "edited by a person before this step",
  write: "restored by a person",
  append: "restored by a person",
  delete: "removed by a person, who restored an earlier step",
  place: "put back by a person, who restored another step",
  trust: "trusted by a person",
};

function bodyOf(story: Version): readonly string[] {
  const { command, cell, thought, thoughts, recalledSteps, outside, received, sources, sourcesLeftOut, version } =
    story;
  const said = Object.entries(thoughts ?? { thought }).filter(([, text]) => text !== "");
  const since = version > 1 ? `since version ${version - 1}` : "before it";
  const earlier = version > 1 && received.length > 0 ? `, and from outside since step ${received[0]?.step}` : "";
  return [
    ...(command && command.name !== SAVES_FILES
      ? [`  Command: ${command.name} ${escapeUnseenInJson(JSON.stringify(command.args))}`]
      : []),
    ...(cell ? [`  Cell: ${describeCell(cell)}`] : []),
    ...said.map(([name, text]) => `  ${name}: ${text.replaceAll("\n", "\n    ")}`),
    ...(recalledSteps.length > 0 ? [`  Recalled: what happened in step ${recalledSteps.join(", ")}`] : []),
    ...(outside.length > 0 ? [`  Holds words from outside: ${listSources(outside, 5)}`] : []),
    ...(received.length > 0 ? [`  Outside words that it had read: ${describeReceived(received, 5)}`] : []),
    sources.length === 0 ? `  Sources: nothing was read ${since}` : `  Sources, read ${since}${earlier}`,
    ...(sourcesLeftOut > 0 ? [`    ${sourcesLeftOut} older ones`] : []),
    ...sources.flatMap(sourceLines).map((line) => `    ${line}`),
  ];
}

function describeCell({ callId, command, file, line, source }: NonNullable<Version["cell"]>): string {
  const name = file === null ? `${command} ${callId}` : `${command} ${callId} of ${file}`;
  return line === null ? name : `${name}, line ${line}: ${source}`;
}

function sourceLines({ step, at, command, what, kind, outside, kept, answer }: Source): readonly string[] {
  if (kind === "person" && command === null) return [`step ${step}, ${at}, a person said: ${what}`];
  const whose = outside.length > 0 ? `: ${listSources(outside)}` : "";
  const where = kept.length > 0 ? `, kept in ${kept.slice(0, MAX_PATHS).join(", ")}` : "";
  const read = command === null ? what : `${command} ${what}`;
  return [`step ${step}, ${at}, ${read} (${kind}${whose})${where}`, ...(answer === "" ? [] : [`  | ${answer}`])];
}

const MAX_PATHS = 3;
