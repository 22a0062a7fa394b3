/** memory-view.ts -- memory rows as people and programs read them. Vectors are left out. */
import { hash } from "node:crypto";
import type { MemoryRow } from "#core/ports/memory-row.ts";
import type { Recall } from "#core/ports/recall.ts";
import { oneLine } from "#core/text.ts";
import { escapeUnseenInJson } from "#util/unseen.ts";

export type MemoryView = Omit<MemoryRow, "vector">;

export const viewMemory = ({ vector: _vector, ...row }: MemoryRow): MemoryView => row;

/** What makes two rows the same, wherever they are. */
export const identityOf = ({
  kind,
  text,
  source = null,
}: Pick<MemoryRow, "kind" | "text"> & { readonly source?: string | null }): string =>
  hash("sha256", JSON.stringify([kind, text, source]), "hex");

const TEXT_CHARS = 90;

export const MEMORY_HEAD: readonly string[] = ["ID", "AT", "STEP", "KIND", "FROM", "STANDING", "TEXT"];

/** One line of a table under MEMORY_HEAD. */
export const memoryCells = (row: MemoryView): readonly string[] => [
  row.id,
  row.at.slice(0, 16).replace("T", " "),
  row.step === null ? "" : String(row.step),
  row.kind,
  row.trust,
  standingOf(row),
  oneLine(row.text, TEXT_CHARS),
];

export const RECALL_HEAD: readonly string[] = ["SCORE", "ID", "AT", "KIND", "FROM", "TEXT"];

export const recallCells = ({ score, id, at, kind, trust, text }: Recall): readonly string[] => [
  score.toFixed(3),
  id,
  at.slice(0, 16).replace("T", " "),
  kind,
  trust,
  oneLine(text, TEXT_CHARS),
];

export function standingOf({ pinned, forgotten, supersededBy }: MemoryView): string {
  if (forgotten !== null) return forgotten === "person" ? "forgotten" : "gone from its source";
  if (supersededBy !== null) return `now ${supersededBy}`;
  return pinned ? "pinned" : "";
}

/** In full, with all that is known of the row itself. */
export function describeMemory(row: MemoryView): string {
  const { id, kind, trust, at, step, importance, source, supersedes, text } = row;
  const standing = standingOf(row);
  return [
    `${id}  ${kind}, from ${trust}, importance ${importance}`,
    `${at}${step === null ? "" : `, step ${step}`}`,
    ...(standing === "" ? [] : [standing]),
    ...(source === null ? [] : [`Read from ${source}`]),
    ...(supersedes === null ? [] : [`In place of ${supersedes}`]),
    "",
    text,
  ].join("\n");
}

/** Why a memory is there, and what came of it. */
export interface MemoryStory {
  readonly memory: MemoryView;
  /** What a step left: what it did then; null for what no step left. */
  readonly step: {
    readonly agent: string;
    readonly step: number;
    readonly turn: number;
    readonly thought: string;
    readonly command: string | null;
    readonly args: Readonly<Record<string, unknown>>;
    readonly status: string | null;
    /** Where the text of the result came from. */
    readonly from: string | null;
    readonly files: readonly string[];
  } | null;
  /** Rows that it took the place of, the newest first, and those that took its. */
  readonly before: readonly MemoryView[];
  readonly after: readonly MemoryView[];
  /** Steps of the agent whose prompt showed it. */
  readonly recalledIn: readonly number[];
}

const MAX_STEPS = 20;

export function describeMemoryStory({ memory, step, before, after, recalledIn }: MemoryStory): string {
  const lines = [describeMemory(memory), ""];
  if (step) {
    const { agent, turn, thought, command, args, status, from, files } = step;
    lines.push(`Left by step ${step.step} of ${agent} (turn ${turn}): goald show ${agent} --step ${step.step}`);
    if (thought !== "") lines.push(`  Thought: ${oneLine(thought, 400)}`);
    if (command !== null) lines.push(`  Command: ${command} ${oneLine(escapeUnseenInJson(JSON.stringify(args)), 300)}`);
    if (status !== null) lines.push(`  Result: ${status}, from ${from}`);
    if (files.length > 0) lines.push(`  Files: ${files.join(", ")}`);
  } else if (memory.step !== null) lines.push(`Left in step ${memory.step}.`);
  else lines.push(memory.source === null ? "Put there by a person." : `Read from ${memory.source}.`);
  for (const row of before) lines.push(`In place of ${row.id}: ${oneLine(row.text, 200)}`);
  for (const row of after) lines.push(`Its place was taken by ${row.id}: ${oneLine(row.text, 200)}`);
  lines.push(recalledLine(recalledIn));
  return lines.join("\n");
}

function recalledLine(steps: readonly number[]): string {
  if (steps.length === 0) return "It was never recalled.";
  const more = steps.length > MAX_STEPS ? ` and ${steps.length - MAX_STEPS} before` : "";
  return `Recalled in ${steps.length === 1 ? "step" : "steps"} ${steps.slice(-MAX_STEPS).join(", ")}${more}.`;
}
