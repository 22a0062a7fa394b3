/** loop-services.ts -- what commands see of the agent's plan, memory and sub-agents. */
import { hash } from "node:crypto";
import type { Observation } from "#core/call.ts";
import { type CommandWrite, fail } from "#core/command.ts";
import { GoaldError } from "#core/errors.ts";
import type { NewEvent, OfCall } from "#core/event.ts";
import { hasChecks, startPlan } from "#core/evolve-turn.ts";
import { checksOf } from "#core/goal-check.ts";
import {
  identifyFact,
  isLive,
  type MemoryBook,
  namespaceOf,
  readMemoryId,
  refuseMemoryChange,
  sourcesOfRecall,
} from "#core/memory.ts";
import {
  compareTasks,
  findTask,
  goalsOfTask,
  newTaskIds,
  nextTaskId,
  type PlacedTask,
  type PlanBook,
  refuseTask,
  setTask,
  TASK_STATES,
  type TaskState,
  unbegunBelow,
} from "#core/plan.ts";
import type { Clock } from "#core/ports/clock.ts";
import type { MemoryRow } from "#core/ports/memory.ts";
import type { StagedWrite, Store } from "#core/ports/store.ts";
import { type OutsideSource, outsideOf } from "#core/provenance.ts";
import type { AgentDirectory, ChildAgent } from "#core/services.ts";
import type { AgentState } from "#core/state.ts";
import { isHelpedByTask } from "#core/subagent-messages.ts";
import {
  childOf,
  grantRequest,
  type SubagentRequest,
  type SubagentRules,
  unknownAgent,
} from "#core/subagent-requests.ts";
import { joinNames, oneLine } from "#core/text.ts";
import { shownStateOf } from "#views/agent-view.ts";

export function openPlan(state: AgentState): PlanBook {
  return {
    checkAddition(parent, task) {
      const plan = startPlan(state);
      const problem = refuseTask(plan, parent, task);
      if (problem !== undefined) throw new GoaldError("GOALD_PLAN", problem);
      return newTaskIds(task, nextTaskId(plan, parent));
    },
    checkChange(id, written) {
      const plan = startPlan(state);
      const found = findTask(plan, id);
      if ("problem" in found) throw new GoaldError("GOALD_PLAN", found.problem);
      const wanted = readState(written);
      const unbegun = wanted === "verified" ? unbegunBelow(found, id) : [];
      if (unbegun.length > 0) throw new GoaldError("GOALD_PLAN", describeUnbegun(unbegun));
      const changed = compareTasks(plan, setTask(plan, id, wanted)).map((change) => change.id);
      const goals = wanted === "verified" ? goalsToCheck(id, state) : [];
      return { state: wanted, from: found.state, changed, goals };
    },
  };
}

/** Nobody can have checked the result of a task that was never begun. Names two. */
function describeUnbegun(unbegun: readonly PlacedTask[]): string {
  const named = unbegun.map(({ id, task }) => `${id} ${JSON.stringify(oneLine(task.goal, 80))}`);
  return `Nothing changed: ${joinNames(named, 2)} below it ${unbegun.length === 1 ? "was" : "were"} never begun. Do what is left and verify it, or set it to abandoned.`;
}

/** Models also write "In progress" and "in-progress". */
function readState(written: string): TaskState {
  const name = written.trim().toLowerCase().replaceAll(/[\s-]/g, "_");
  const known = TASK_STATES.find((state) => state === name);
  if (known) return known;
  const states = joinNames(TASK_STATES, TASK_STATES.length, "or");
  throw new GoaldError("GOALD_PLAN", `Expected the state ${states}, got ${JSON.stringify(oneLine(written, 80))}.`);
}

/** The goals that task `id` stands for; none when no check would prove them. */
function goalsToCheck(id: string, state: AgentState): readonly number[] {
  const { checks, goals } = state;
  const reported = goalsOfTask(id, goals.length);
  return hasChecks(state) && checksOf(checks, reported, goals.length).length > 0 ? reported : [];
}

export type OwnMemories = Pick<Store, "memory" | "newestFact">;

/** `trustedSeq`: the event up to which a person trusts the agent's own words. */
export function openMemories(agent: string, trustedSeq: number, store: OwnMemories): MemoryBook {
  const asReceived = (row: MemoryRow): MemoryRow => {
    const { outside: _outside, ...rest } = row;
    return { ...rest, ...outsideOf(sourcesOfRecall(row, agent, trustedSeq)) };
  };
  return {
    async findFact(fact) {
      const identity = identifyFact(fact);
      if (identity === "")
        throw new GoaldError("GOALD_MEMORY", "Expected a subject and an attribute with letters or digits.");
      const key = hash("sha256", identity, "hex");
      const row = await store.newestFact(agent, key, "agent");
      if (!row) return { key };
      if (isLive(row)) return { key, holds: asReceived(row) };
      const by = row.supersededBy === null ? undefined : await findRow(row.supersededBy, agent, store);
      return by?.trust === "person" && by.forgotten === null
        ? { key, corrected: { row: asReceived(row), by } }
        : { key };
    },
    async findOwn(written) {
      const id = readMemoryId(written, agent);
      const row = await findRow(id, agent, store);
      const problem = refuseMemoryChange(id, row, agent);
      if (!row || problem !== undefined) throw new GoaldError("GOALD_MEMORY", problem ?? "");
      return asReceived(row);
    },
  };
}

/** Returns why a staged memory may not replace a row, for commands that do not ask `findOwn`; undefined when all may. */
export async function refuseMemories(
  staged: readonly StagedWrite[],
  agent: string,
  store: OwnMemories,
): Promise<string | undefined> {
  for (const write of staged) {
    if (write.kind !== "memory" || write.supersedes === undefined) continue;
    const problem = refuseMemoryChange(write.supersedes, await findRow(write.supersedes, agent, store), agent);
    if (problem !== undefined) return problem;
  }
  return undefined;
}

const findRow = async (id: string, agent: string, store: OwnMemories): Promise<MemoryRow | undefined> =>
  namespaceOf(id) === agent ? store.memory(agent, id) : undefined;

export interface SubagentParts {
  readonly rules: SubagentRules;
  /** Time that a call waits for a sub-agent's answer. */
  readonly answerMs: number;
  /** Reason why this agent may not have sub-agents; null when it may. */
  readonly refusal: string | null;
  freeId(name: string): Promise<string>;
  /** State from the sub-agent's log; undefined after its removal. */
  stateOf(agent: string): Promise<AgentState | undefined>;
}

/** Returns what commands see of sub-agents. The list comes from this agent's log, their state from theirs. */
export function openDirectory(state: AgentState, parts: SubagentParts, clock: Clock): AgentDirectory {
  const keys = Object.keys(state.children).filter((key) => childOf(state, key));

  async function look(key: string): Promise<ChildAgent> {
    const { name = key, task = "" } = childOf(state, key) ?? {};
    // A recording does not include other agents, so a recorded run must not read their state.
    if (parts.refusal !== null) return { key, name, task, standing: "not looked at", listens: false, step: 0 };
    const own = await parts.stateOf(key);
    if (!own) return { key, name, task, standing: "removed", listens: false, step: 0 };
    const standing = WORDS[shownStateOf(own, true)] ?? shownStateOf(own, true);
    return { key, name, task, standing, listens: isHelpedByTask(own), step: own.step };
  }

  return {
    children: () => Promise.all(keys.map(look)),
    child: async (given) => {
      const named = keys.filter((key) => state.children[key]?.name.toLowerCase() === given.trim().toLowerCase());
      const key = keys.includes(given) ? given : named.length === 1 ? named[0] : undefined;
      return key === undefined ? undefined : look(key);
    },
    unknown: (key) => unknownAgent(state, key).text,
    answerBy: () => new Date(clock.now().getTime() + parts.answerMs).toISOString(),
  };
}

const WORDS: Readonly<Record<string, string>> = {
  running: "working",
  completed: "finished",
  "waiting: person": "waits for an answer from a person",
  "waiting: approval": "waits for a person's approval",
};

/** The staged writes with granted requests, or the reason for refusing the whole call. */
type Granted =
  | { readonly events: readonly NewEvent[]; readonly staged: readonly StagedWrite[] }
  | { readonly refused: Observation };

/**
 * Grants requests about sub-agents. A granted request is an event in the agent's own log, committed with the call's
 * result; starting and sending follow from that event (core/subagent-messages.ts). `outside`: sources of the words that
 * the call received, which its requests may hold.
 */
export async function grantRequests(
  written: readonly CommandWrite[],
  outside: readonly OutsideSource[],
  state: AgentState,
  of: OfCall,
  parts: SubagentParts | undefined,
): Promise<Granted> {
  const staged = written.filter((write) => !isSubagentRequest(write)) as readonly StagedWrite[];
  const [wish, ...more] = written.filter(isSubagentRequest);
  if (!wish) return { events: [], staged };
  const refusal = parts ? parts.refusal : "There are no other agents here.";
  if (!parts || refusal !== null) return { refused: fail("no-agents", refusal ?? "") };
  if (more.length > 0)
    return { refused: fail("command-error", "A call may start, tell or end one agent, not several.") };
  // A person removed the sub-agent; this agent's log has not received that yet.
  if (wish.kind !== "start" && childOf(state, wish.agent) && !(await parts.stateOf(wish.agent)))
    return { refused: fail("no-such-agent", `${wish.agent} was removed by a person.`) };
  const id = wish.kind === "start" ? await parts.freeId(wish.name) : "";
  const granted = grantRequest(wish, state, parts.rules, { ...of, id });
  if ("refused" in granted) return { refused: fail(granted.refused, granted.text) };
  const isWords = granted.type === "agent-started" || granted.type === "agent-told";
  return { events: [isWords ? { ...granted, ...outsideOf(outside) } : granted], staged };
}

const isSubagentRequest = (write: CommandWrite): write is SubagentRequest => WISHES.has(write.kind);
const WISHES: ReadonlySet<CommandWrite["kind"]> = new Set(["start", "tell", "end"]);
