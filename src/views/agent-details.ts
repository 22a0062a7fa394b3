/** agent-details.ts -- one agent in full, as `goald show` prints it, loaded from a store. */
import type { AgentSettings } from "#core/agent-settings.ts";
import { describeCheck } from "#core/goal-check.ts";
import { MAX_REFUSALS, notProven } from "#core/guards.ts";
import type { AgentRow, FileVersion, StoreReader } from "#core/ports/store.ts";
import type { AgentState } from "#core/state.ts";
import { count, described, flag, listOf, nullable, open, type Static, text, typed } from "#util/schema.ts";
import { AgentView, agentMembers, LimitLeft, limitsLeft } from "./agent-view.ts";
import { LatestFile, latestFiles, loadTrustInAll, TrustGiven, trustedFiles } from "./file-versions.ts";
import { NextStep, nextStepOf } from "./next-step.ts";
import { Lost, usageMembers } from "./parts.ts";
import { stateOf } from "./read-agent.ts";
import { loadWaiting, WaitingView } from "./waiting.ts";

export const CheckView = open({
  goal: described(nullable(count), "Index of the goal; null for all goals together."),
  check: described(text, "The check in words."),
  isPassed: described(nullable(flag), "The newest result; null when the check has not run."),
  proof: described(text, "Evidence of the newest result: the proof, or the reason of the failure. Empty without one."),
});
export type CheckView = Static<typeof CheckView>;

export const stateMembers = {
  ...agentMembers,
  role: text,
  goals: listOf(text),
  checks: described(listOf(CheckView), "Checks of the goals, with their newest results."),
  settings: described(typed<AgentSettings>({ type: "object" }), "A null `model` stands for the setting models.smart."),
  usage: open({ ...usageMembers, modelCalls: count }),
  lost: Lost,
  limits: listOf(LimitLeft),
  files: listOf(LatestFile),
  next: NextStep,
};
export const AgentDetails = open({
  ...stateMembers,
  lastThought: text,
  agents: described(listOf(AgentView), "The agents that it started."),
  trusted: described(listOf(TrustGiven), "What a person trusts of the words from outside, each since its time."),
  waiting: described(nullable(WaitingView), "The approval or answer that it waits for, even paused; null for none."),
});
export type AgentDetails = Static<typeof AgentDetails>;

const TAIL_EVENTS = 50;

type Reader = Pick<StoreReader, "load" | "read" | "files" | "agents" | "blob" | "lastFileVersion">;

/** Throws GOALD_STORE_DAMAGED for a log that cannot be read. */
export async function loadDetails(
  row: AgentRow,
  reader: Reader,
  viewAgents: (rows: readonly AgentRow[]) => Promise<readonly AgentView[]>,
  now: Date,
): Promise<AgentDetails> {
  const [view] = await viewAgents([row]);
  if (!view) throw new Error(`no view of ${row.id}`);
  // A host's view may be of a later event than the row.
  const seen = { ...row, head: view.head };
  const state = await stateOf(reader, row, view.head);
  const versions = await reader.files(row.id);
  return {
    ...describeState(view, state, versions, now),
    lastThought: await lastThoughtOf(seen, reader),
    agents: await viewAgents((await reader.agents()).filter(({ parent }) => parent === row.id)),
    trusted: [...(await loadTrustInAll(row.id, state.trustedSeq, reader)), ...trustedFiles(versions)],
    waiting: view.standing.kind === "over" ? null : await loadWaiting(seen, reader),
  };
}

/** What the state says of an agent, with the files of these versions. */
export function describeState(view: AgentView, state: AgentState, versions: readonly FileVersion[], now: Date) {
  const { role, goals, settings, usage, lost } = state;
  return {
    ...view,
    role,
    goals,
    settings,
    usage,
    lost,
    // Failed checks are in `checks`, so the reason names what else is missing. A person's change sets the count to 0.
    reason:
      state.paused?.code === "not-proven"
        ? notProven({ ...state, refusals: MAX_REFUSALS, proofs: [] }).replaceAll("<agent>", view.id)
        : view.reason,
    checks: viewChecks(state),
    limits: limitsLeft(state, now),
    files: latestFiles(versions),
    next: nextStepOf(view.id, state, view.state),
  };
}

/** Of the last command among the newest events; empty when there is none. */
async function lastThoughtOf({ id, head }: AgentRow, reader: Reader): Promise<string> {
  const tail = await reader.read(id, Math.max(0, head - TAIL_EVENTS), TAIL_EVENTS);
  return tail.findLast((event) => event.type === "command-requested")?.thought ?? "";
}

export const viewChecks = ({ checks, proofs }: Pick<AgentState, "checks" | "proofs">): readonly CheckView[] =>
  checks.map((check, index) => {
    const { isPassed = null, proof = "" } = proofs.find((each) => each.check === index) ?? {};
    return { goal: check.goal, check: describeCheck(check.test), isPassed, proof };
  });

export function countChecks(checks: readonly Pick<CheckView, "isPassed">[]) {
  const count = (wanted: boolean | null): number => checks.filter(({ isPassed }) => isPassed === wanted).length;
  return { passed: count(true), failed: count(false), notRun: count(null) };
}

/** Such as `2 passed, 1 failed, 1 not run`. */
export function describeCounts({ passed, failed, notRun }: ReturnType<typeof countChecks>): string {
  const counts = Object.entries({ passed, failed, "not run": notRun }).filter(([, count]) => count > 0);
  return counts.map(([word, count]) => `${count} ${word}`).join(", ");
}

/** Such as `passed: plan.md exists. It has 2.1 KB.` */
export function describeCheckView({ check, isPassed, proof }: CheckView): string {
  const word = isPassed === null ? "has not run" : isPassed ? "passed" : "failed";
  return `${word}: ${check}.${proof === "" ? "" : ` ${proof}`}`;
}
