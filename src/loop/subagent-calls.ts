/**
 * subagent-calls.ts -- what commands see of sub-agents, and how their requests about them are granted.
 *
 * A granted request is an event in the agent's own log, committed with the call's result; starting and sending follow
 * from that event (core/subagent-messages.ts). The list of sub-agents comes from this log, their state from theirs.
 */

import type { Observation } from "#core/call.ts";
import { type CommandWrite, fail } from "#core/command.ts";
import type { NewEvent } from "#core/event.ts";
import type { Clock } from "#core/ports/clock.ts";
import type { StagedWrite } from "#core/ports/store.ts";
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
import { standingOf } from "#views/agent-view.ts";

export interface SubagentParts {
  readonly rules: SubagentRules;
  /** Time that a call waits for a sub-agent's answer. */
  readonly answerMs: number;
  /** Reason why this agent may not have sub-agents; null when it may. */
  readonly refusal: string | null;
  /** Returns a free id for a sub-agent of that name. */
  freeId(name: string): Promise<string>;
  /** State from the sub-agent's log; undefined after its removal. */
  stateOf(agent: string): Promise<AgentState | undefined>;
}

export function openDirectory(state: AgentState, parts: SubagentParts, clock: Clock): AgentDirectory {
  const keys = Object.keys(state.children).filter((key) => childOf(state, key));

  async function look(key: string): Promise<ChildAgent> {
    const { name = key, task = "" } = childOf(state, key) ?? {};
    // A recording does not include other agents, so a recorded run must not read their state.
    if (parts.refusal !== null) return { key, name, task, standing: "not looked at", listens: false, step: 0 };
    const own = await parts.stateOf(key);
    if (!own) return { key, name, task, standing: "removed", listens: false, step: 0 };
    const standing = WORDS[standingOf(own, true)] ?? standingOf(own, true);
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

/** `outside`: sources of the words that the call received, which its requests may hold. */
export async function grant(
  written: readonly CommandWrite[],
  outside: readonly OutsideSource[],
  state: AgentState,
  of: { readonly step: number; readonly callId: string },
  parts: SubagentParts | undefined,
): Promise<Granted> {
  const found = written.flatMap((write) => (write.kind === "methods-found" ? [write.names] : []));
  const staged = written.filter(
    (write) => !isSubagentRequest(write) && write.kind !== "methods-found",
  ) as readonly StagedWrite[];
  const [wish, ...more] = written.filter(isSubagentRequest);
  if (!wish) return { events: found.map((names) => ({ type: "methods-found", ...of, names })), staged };
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
