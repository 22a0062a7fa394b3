/** nested-text.ts -- formats what happened inside the calls of a step, for a person. Pure. */
import { SAVES_FILES } from "#core/cells.ts";
import { countNoun } from "#core/text.ts";
import { dollars } from "./limits-left.ts";
import type { NestedRow, NestedView } from "./nested-rows.ts";

/** A heading and a line for each row, indented by its depth; nothing when there is none. */
export function nestedLines({ rows, leftOut, calls, steps, tokens, costUsd }: NestedView): readonly string[] {
  if (rows.length === 0) return [];
  const left = leftOut.map(({ command, times }) => `${command} ×${times}`).join(", ");
  const inAll = [
    countNoun(calls, "call"),
    ...(steps > 0 ? [countNoun(steps, "step")] : []),
    ...(tokens > 0 ? [countNoun(tokens, "token"), describeCost(costUsd)] : []),
  ];
  return [`Other calls: ${inAll.join(", ")}`, ...rows.flatMap(rowLines), ...(left === "" ? [] : [`… and ${left}`])];
}

function rowLines(row: NestedRow): readonly string[] {
  const { depth, problem, status, durationMs, tokens, costUsd } = row;
  const indent = "  ".repeat(depth);
  const facts = [
    status ?? "under way",
    ...(durationMs === null ? [] : [describeTime(durationMs)]),
    ...(tokens > 0 ? [countNoun(tokens, "token"), describeCost(costUsd)] : []),
  ];
  const line = `${indent}${describeIds(row)}  ${describePiece(row)}: ${facts.join(", ")}`;
  return problem === "" ? [line] : [line, `${indent}  ${problem}`];
}

const describeIds = ({ callId, lastCallId }: NestedRow): string =>
  callId === lastCallId ? callId : `${callId} to ${lastCallId}`;

function describePiece({ kind, command, about, times, step }: NestedRow): string {
  if (kind === "step") return `step ${step}`;
  if (kind === "sub-task") return `sub-task ${JSON.stringify(about)}`;
  if (command === SAVES_FILES) return times > 1 ? `saves files ×${times}, first ${about}` : `saves ${about}`;
  if (times > 1) return `${command} ×${times}, first ${about}`;
  return about === "" ? command : `${command} ${about}`;
}

const describeTime = (ms: number): string => (ms < 10_000 ? `${ms} ms` : `${Math.round(ms / 1000)} s`);
const describeCost = (usd: number | null): string => (usd === null ? "no known price" : dollars(usd));
