/** step-text.ts -- formats one step for a person, from the request to the result. Pure. */
import type { CommandCall } from "#core/call.ts";
import { isCellCommand, SAVES_FILES } from "#core/command.ts";
import type { ModelSpending } from "#core/event.ts";
import { countNoun, withCommas } from "#core/text.ts";
import { escapeUnseenInJson, numberCode } from "#util/outside-text.ts";
import { dollars } from "./agent-view.ts";
import { isPutBack } from "./file-versions.ts";
import type { NestedRow, NestedView } from "./nested.ts";
import { planLines, proofLines } from "./plan-view.ts";
import { wholeText } from "./read-agent.ts";
import type { Attempt } from "./step-view.ts";
import type { RebuiltPrompt, WholeStep } from "./whole-step.ts";

export function describeStep(step: WholeStep): string {
  const parts = [
    [`Step ${step.step} of ${step.name} (${step.agent}), turn ${step.turn}, ${step.startedAt} to ${step.endedAt}`],
    ["Goals", ...step.goals.map((goal, index) => `${index + 1}. ${goal}`)],
    ["Asked", ...step.attempts.flatMap(attemptLines)],
    promptLines(step.prompt),
    recallLines(step),
    replyLines(step),
    thoughtLines(step),
    commandLines(step),
    nestedLines(step.nested),
    resultLines(step),
    planLines(step.planChanges),
    proofLines(step.checks),
    fileLines(step),
  ];
  return parts
    .filter((part) => part.length > 0)
    .map(([head, ...lines]) => [head, ...lines.map((line) => indent(line))].join("\n"))
    .join("\n\n");
}

function attemptLines({ at, attempt, model, reservedTokens, reservedUsd, failure }: Attempt): readonly string[] {
  const cost = typeof reservedUsd === "number" ? `, ${dollars(reservedUsd)}` : "";
  const asked = `${at}  ${model}, attempt ${attempt}, ${withCommas(reservedTokens)} tokens${cost} reserved`;
  if (!failure) return [asked];
  const again = failure.retryAt ? ` The next attempt is not before ${failure.retryAt}.` : "";
  return [asked, `No reply (${failure.code}): ${failure.message}${again}`];
}

function promptLines({ messages, exact, note }: RebuiltPrompt): readonly string[] {
  const head = exact ? "Prompt, exactly as sent (its hash matches the request's)" : "Prompt";
  const shown = messages.flatMap(({ role, content, calls = [] }) => [
    `--- ${role}`,
    ...(content === "" ? [] : [content]),
    ...calls.map(({ name, args }) => `${name} ${args}`),
  ]);
  return [head, ...(note === "" ? [] : [note]), ...shown];
}

function recallLines({ recalls, recallIds }: WholeStep): readonly string[] {
  if (recallIds.length === 0) return ["Recalls: none"];
  return [
    "Recalls, best first, then the memories shown with them",
    ...recalls.map(({ id, step, at, trust, text }) => {
      const when = step === null ? at : `step ${step}, ${at}`;
      return `${id} (${when}, from ${trust})\n${indent(text)}`;
    }),
  ];
}

function replyLines({ reply, problems }: WholeStep): readonly string[] {
  if (!reply) return ["Reply: none yet"];
  return [
    `Reply (${reply.finishReason}), ${reply.durationMs} ms, ${costLine(reply)}`,
    wholeText(reply.text),
    ...problems.map((problem) => `Not usable: ${problem}`),
  ];
}

const costLine = ({ usage, costUsd }: Pick<ModelSpending, "usage" | "costUsd">): string =>
  `${describeUsage(usage)}, ${describeCost(costUsd)}`;

/** Such as `9,400 tokens in (0 cached), 320 out`. */
export const describeUsage = ({ inputTokens, outputTokens, cachedTokens, estimated }: ModelSpending["usage"]): string =>
  `${estimated ? "about " : ""}${withCommas(inputTokens)} tokens in (${withCommas(cachedTokens)} cached), ${withCommas(outputTokens)} out`;

function thoughtLines({ thoughts, thought }: WholeStep): readonly string[] {
  const known = Object.entries(thoughts ?? { thought }).filter(([, text]) => text !== "");
  return known.length === 0 ? [] : ["Thoughts", ...known.map(([name, text]) => `${name}: ${text}`)];
}

function commandLines({ command, repaired, approval, starts, interruptions }: WholeStep): readonly string[] {
  if (!command) return [];
  const { asked, verdict, by, reason } = approval;
  return [
    `Command${repaired ? " (its JSON was repaired)" : ""}`,
    ...callLines(command),
    ...(asked === null ? [] : [`A person was asked: ${asked}`]),
    ...(verdict === null
      ? []
      : [`${verdict === "approved" ? "Approved" : "Denied"} by ${by}${reason ? `: ${reason}` : ""}`]),
    ...starts.map(({ at, attempt, effect }) => `Started ${at}, attempt ${attempt}, effect ${effect}`),
    ...(interruptions > 0 ? [`Interrupted by a crash, times: ${interruptions}`] : []),
  ];
}

/** JSON of the call. Code is shown by itself. */
function callLines({ name, args }: CommandCall): readonly string[] {
  const json = (shown: object): string => escapeUnseenInJson(JSON.stringify({ name, args: shown }, null, 2));
  const { code, ...others } = args;
  return isCellCommand(name) && typeof code === "string" ? [json(others), "Code:", ...numberCode(code)] : [json(args)];
}

function resultLines({ result, spent }: WholeStep): readonly string[] {
  if (!result) return [];
  const { status, code, source, durationMs, reconciled, text, artifacts } = result;
  const found = reconciled ? ", found done after a crash" : "";
  return [
    `Result: ${status}${code ? `, ${code}` : ""}, from ${source}, ${durationMs} ms${found}`,
    wholeText(text),
    ...(artifacts.length > 0 ? [`Created or changed: ${artifacts.join(", ")}`] : []),
    ...(spent ? [`Spent on models: ${costLine(spent)}`] : []),
  ];
}

function fileLines({ files }: WholeStep): readonly string[] {
  if (files.length === 0) return [];
  const lines = files.map((file) => {
    const { operation, path, bytes, sha256 } = file;
    return `${operation}${isPutBack(file) ? " (a person's change)" : ""}  ${path}  ${bytes} bytes  ${sha256 ?? "-"}`;
  });
  return ["Files", ...lines];
}

const indent = (text: string): string => text.replace(/^(?=.)/gm, "  ");

/** A heading and a line for each row, indented by its depth; nothing when there is none. */
export function nestedLines({ rows, leftOut, calls, steps, tokens, costUsd }: NestedView): readonly string[] {
  if (rows.length === 0) return [];
  const left = leftOut.map(({ command, times }) => `${command} ×${times}`).join(", ");
  const inAll = [
    countNoun(calls, "call"),
    ...(steps > 0 ? [countNoun(steps, "step")] : []),
    ...(tokens > 0 ? [`${withCommas(tokens)} tokens`, describeCost(costUsd)] : []),
  ];
  return [`Other calls: ${inAll.join(", ")}`, ...rows.flatMap(rowLines), ...(left === "" ? [] : [`… and ${left}`])];
}

function rowLines(row: NestedRow): readonly string[] {
  const { depth, problem, status, durationMs, tokens, costUsd } = row;
  const indent = "  ".repeat(depth);
  const facts = [
    status ?? "under way",
    ...(durationMs === null ? [] : [describeTime(durationMs)]),
    ...(tokens > 0 ? [`${withCommas(tokens)} tokens`, describeCost(costUsd)] : []),
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
