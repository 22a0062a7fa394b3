/** result.ts -- prints a run and its result: lines for a person, or NDJSON with a last line `result`. */
import { createLiveThoughts, loadWholeCatalogue } from "#app/catalogue.ts";
import { ofType } from "#cassette/format.ts";
import { readSessions } from "#cassette/recording-file.ts";
import { createEventLines, createShowRun, type ShowRun, type ShowRunParts } from "#cli/terminal/show-run.ts";
import { reservedBy } from "#core/call.ts";
import { EXIT, orUndefined } from "#core/errors.ts";
import type { PauseCode } from "#core/event.ts";
import { waitsForHelpers } from "#core/guards.ts";
import { type AgentState, activeFrame, approvalOf, isAwaitingPerson, isFinished } from "#core/state.ts";
import { countNoun, withCommas } from "#core/text.ts";
import { clean } from "#util/outside-text.ts";
import { countChecks, describeCounts, viewChecks } from "#views/agent-details.ts";
import { type AgentView, dollars, reasonOf } from "#views/agent-view.ts";
import { goOnCall, nameCall } from "#views/next-step.ts";
import { lookAgain } from "./agents.ts";
import { createAskPerson } from "./ask-person.ts";
import { type CliContext, callsHere, formatCall } from "./context.ts";

/** The parts of an agent that the end of the output mentions. */
export type Shown = Pick<AgentView, "id" | "workspace">;

/** `begun`: calls that are open when the output starts. `createScanner`: set when replies are shown while they arrive. */
export function createPresenter(
  { output, redact }: CliContext,
  thoughtsOf: ShowRunParts["thoughtsOf"],
  begun: AgentState["open"],
  createScanner?: NonNullable<ShowRunParts["live"]>["createScanner"],
): ShowRun {
  if (output.json) {
    const toLine = createEventLines(begun);
    return (event) => output.data(redact(JSON.stringify(toLine(event))));
  }
  const { write, colour } = output;
  const live = write && createScanner && colour ? { live: { write, redact, createScanner } } : {};
  return createShowRun({ print: (line) => output.styled(redact(line)), colour, thoughtsOf, ...live });
}

const EXIT_OF_PAUSE: Readonly<Record<PauseCode, number>> = {
  person: EXIT.waitsForHuman,
  stopped: EXIT.waitsForHuman,
  killed: EXIT.waitsForHuman,
  parent: EXIT.waitsForHuman,
  ended: EXIT.waitsForHuman,
  "token-limit": EXIT.limit,
  budget: EXIT.limit,
  "time-limit": EXIT.limit,
  loop: EXIT.notReached,
  "failing-cells": EXIT.notReached,
  "step-limit": EXIT.limit,
  "bad-replies": EXIT.notReached,
  "key-refused": EXIT.keyMissing,
  "model-refused": EXIT.notReached,
  "model-unreachable": EXIT.notReached,
  "prompt-too-long": EXIT.usage,
  "not-proven": EXIT.notReached,
  "cap-ignored": EXIT.notReached,
  damaged: EXIT.error,
  "crash-loop": EXIT.error,
};

export function exitCodeOf(state: AgentState, interrupted: boolean): number {
  if (isFinished(state)) return EXIT.ok;
  if (interrupted) return EXIT.interrupted;
  return state.paused ? EXIT_OF_PAUSE[state.paused.code] : EXIT.waitsForHuman;
}

export function outcomeOf(state: AgentState): { readonly outcome: string; readonly reason: string } {
  const { phase } = activeFrame(state);
  if (phase.kind === "resting") return { outcome: phase.outcome, reason: phase.reason };
  if (waitsForHelpers(state)) return { outcome: "waiting", reason: "An agent that it started waits for a person." };
  return { outcome: state.paused?.code ?? phase.kind, reason: reasonOf(state) ?? "" };
}

export function sayEnd(
  { id, workspace }: Shown,
  state: AgentState,
  exitCode: number,
  { output, home }: CliContext,
): void {
  const checks = countChecks(viewChecks(state));
  const { modelCalls } = state.usage;
  const result = { type: "result", agent: id, ...outcomeOf(state), checks, modelCalls, ...spentOf(state) };
  if (output.printJson({ ...result, workspace, exitCode })) return;
  output.say("");
  const more = state.lost.tokens + reservedBy(state.open).tokens;
  const lost = more > 0 ? ` Up to ${withCommas(more)} tokens more for a request without an answer.` : "";
  output.page(`${describeSpent(state)}.${lost}`);
  if (state.checks.length > 0) output.say(`Checks: ${describeCounts(checks)}.`);
  output.say(`Workspace: ${workspace}`);
  const approval = state.paused ? undefined : approvalOf(state);
  if (approval) {
    const named = nameCall(approval).split(" ");
    const deny = formatCall(home, "deny", id, ...named, '"…"');
    output.say(`Answer with: ${formatCall(home, "approve", id, ...named)}, or ${deny}`);
  } else if (isAwaitingPerson(state)) output.say(`Answer with: ${formatCall(home, "say", id, '"…"')}`);
  else if (!isFinished(state) && !waitsForHelpers(state))
    output.say(`Go on with: ${callsHere(home, goOnCall(id, state))}`);
}

export function spentOf({ step, usage, costUsd }: AgentState) {
  const { inputTokens: input, outputTokens: output, cachedTokens: cached, estimated } = usage;
  return { step, tokens: { input, output, cached, estimated }, costUsd: Math.round(costUsd * 1e6) / 1e6 };
}

/** Such as `2 steps, 9,400 tokens in and 320 out, $0.02`. */
export const describeSpent = ({ step, usage, costUsd }: AgentState): string =>
  `${countNoun(step, "step")}, ${usage.estimated ? "about " : ""}${withCommas(usage.inputTokens)} tokens in and ${withCommas(usage.outputTokens)} out${costUsd >= 1e-6 ? `, ${dollars(costUsd)}` : ""}`;

export type Screen = Awaited<ReturnType<typeof openScreen>>;

/** The position in the log where following starts. */
export interface KnownOf {
  /** Number of the last known event; `state` is the state after it. */
  readonly after: number;
  readonly state: AgentState;
}

/** `ask`: undefined without an interactive terminal. `below`: undefined when the output is not a person's terminal. */
export async function openScreen(context: CliContext, begun: AgentState["open"]) {
  const { output, home } = context;
  const below = output.below();
  const asking = { ask: createAskPerson(context), below };
  // Reads input from the start, so that a line typed before a question does not answer it.
  if (asking.ask) output.input();
  if (output.json) return { show: createPresenter(context, () => null, begun), ...asking };
  const { readThoughts } = await loadWholeCatalogue(home);
  return { show: createPresenter(context, readThoughts, begun, createLiveThoughts), ...asking };
}

export function sayResult(agent: Shown, state: AgentState, context: CliContext): number {
  const exitCode = exitCodeOf(state, false);
  sayEnd(agent, state, exitCode, context);
  return exitCode;
}

export function sayGoesOn({ id }: Shown, { output, home }: CliContext, background: boolean): void {
  output.say(`\n${id} goes on ${background ? "in the background" : "while its terminal follows it"}.`);
  output.say(`Follow it: ${formatCall(home, "attach", id)}   Stop it: ${formatCall(home, "stop", id)}`);
}

/** Returns the number of sessions in a recording; 0 when it cannot be read. */
export const countSessions = (path: string): number => orUndefined(() => readSessions(path).sessions.length) ?? 0;

/** `before`: sessions before this run. The host writes the end of a run shortly after the last event. */
export async function sayRecorded(path: string, before: number, { output }: CliContext): Promise<void> {
  const ended = await lookAgain({ looks: 40, everyMs: 50 }, async () => {
    const { sessions } = readSessions(path);
    return sessions.at(-1)?.end ? sessions : undefined;
  });
  const sessions = ended ?? readSessions(path).sessions;
  const end = sessions.at(-1)?.end;
  const requests = sessions.slice(before).reduce((sum, session) => sum + ofType(session, "answer").length, 0);
  output.say(clean(`Recorded in ${path}: ${countNoun(requests, "request")}.`));
  output.say(end ? `State: ${end.state}` : "The recording has no end yet: what was cut off is not in it.");
}
