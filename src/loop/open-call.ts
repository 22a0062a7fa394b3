/** open-call.ts -- what the parts of one call share: its command, arguments, folder and services. */
import type { CallFrame } from "#commands/execute.ts";
import type { RegisteredCommand } from "#commands/registry.ts";
import { sourcesOfInterrupted } from "#core/call.ts";
import { fail } from "#core/command.ts";
import { hasChecks } from "#core/evolve-turn.ts";
import type { GoalTests } from "#core/goal-check.ts";
import { withSources } from "#core/provenance.ts";
import type { Services } from "#core/services.ts";
import { openCommand } from "#core/state.ts";
import { openCells } from "./cells.ts";
import { openFileSources } from "./file-sources.ts";
import type { Journal, Outcome } from "./journal.ts";
import { openMethodSearch } from "./method-search.ts";
import type { Nest } from "./nest.ts";
import { openMemories } from "./open-memories.ts";
import { openPlan } from "./open-plan.ts";
import type { CommandParts } from "./run-command.ts";
import { restoreValue } from "./stored-values.ts";
import { openDirectory } from "./subagent-calls.ts";

export async function openCall(
  callId: string,
  command: RegisteredCommand,
  journal: Journal,
  parts: CommandParts,
): Promise<CallFrame & Pick<Required<CallFrame>, "fileSources">> {
  const { state } = journal;
  const open = openCommand(state, callId);
  const args = (await restoreValue(open?.call.args ?? {}, journal.read)) as CallFrame["args"];
  const { folder, openWorkspace, openOwnWorkspace, signal, subagents, clock } = parts;
  const services = {
    methods: openMethodSearch(state, parts),
    plan: openPlan(state),
    memories: openMemories(parts.agentId, state.trustedSeq, parts.history),
    tests: testsFor(callId, journal, parts),
    ...parts.services,
    ...(subagents ? { agents: openDirectory(state, subagents, clock) } : {}),
    ...cellsFor(callId, journal, parts),
  };
  const checks = hasChecks(state) ? state.checks : [];
  const agent = { id: parts.agentId, name: state.name, goals: state.goals, checks };
  return {
    command,
    args,
    callId,
    step: open?.step ?? state.step,
    ...(open?.script ? { script: open.script } : {}),
    agent,
    folder,
    openWorkspace,
    openOwnWorkspace,
    services,
    signal,
    fileSources: openFileSources(journal, parts.history),
  };
}

/** `nest`: absent while the command is prepared. */
export function cellsFor(callId: string, journal: Journal, parts: CommandParts, nest?: Nest): Partial<Services> {
  const { cells } = parts;
  return cells ? { cells: openCells({ callId, journal, parts: { ...parts, cells }, ...(nest ? { nest } : {}) }) } : {};
}

/** Loaded by the first check. */
function testsFor(callId: string, journal: Journal, parts: CommandParts): GoalTests {
  const { agentId, clock, cells, services } = parts;
  let count = 0;
  const nextVersion = (): string => {
    count += 1;
    return `${callId}#${openCommand(journal.state, callId)?.intent?.attempt ?? 1} test ${count}`;
  };
  const { statuses } = services;
  const of = { agentId, clock, nextVersion, ...(cells ? { cells } : {}), ...(statuses ? { statuses } : {}) };
  return {
    run: async (...given) => (await import("./goal-tests.ts")).openGoalTests(of).run(...given),
  };
}

/** The command was switched off, or no longer exists, although the call was approved. */
export function notThere(callId: string, { state }: Journal, { commandsFor }: CommandParts): Outcome {
  const open = openCommand(state, callId);
  const [text = ""] = commandsFor(state).checkArguments(open?.call.name ?? callId, {});
  const marked = withSources(fail("no-such-command", text), open ? sourcesOfInterrupted(open) : []);
  const of = { step: (open ?? state).step, callId };
  return { events: [{ type: "command-finished", ...of, observation: marked, durationMs: 0 }] };
}
