/**
 * family-calls.ts -- what commands see of the agents that their agent started, and what becomes of their wishes about them.
 *
 * A wish is granted as an event of the agent's own log, in the commit of the call's result; starting and sending follow from
 * that event (core/kin.ts). Who the agents are comes from that log; where each stands, from its own.
 */

import type { Observation } from "#core/call.ts";
import { type CommandWrite, fail } from "#core/command.ts";
import type { NewEvent } from "#core/event.ts";
import type { Clock } from "#core/ports/clock.ts";
import type { StagedWrite } from "#core/ports/commit.ts";
import type { AgentDirectory, ChildAgent } from "#core/services.ts";
import type { AgentState } from "#core/state.ts";
import { isHelpedByTask } from "#core/subagents/incoming.ts";
import {
  childOf,
  grantRequest,
  type SubagentRequest,
  type SubagentRules,
  unknownAgent,
} from "#core/subagents/requests.ts";
import { standingOf } from "#views/agent-view.ts";

export interface SubagentParts {
  readonly rules: SubagentRules;
  /** How long a call waits for an agent's answer. */
  readonly answerMs: number;
  /** Why this agent may have no others at all; null when it may. */
  readonly refusal: string | null;
  /** An id that no agent has, for one of that name. */
  freeId(name: string): Promise<string>;
  /** As its log has it; undefined when it is not there any more. */
  stateOf(agent: string): Promise<AgentState | undefined>;
}

export function openDirectory(state: AgentState, parts: SubagentParts, clock: Clock): AgentDirectory {
  const keys = Object.keys(state.children).filter((key) => childOf(state, key));

  async function look(key: string): Promise<ChildAgent> {
    const { name = key, task = "" } = childOf(state, key) ?? {};
    // What others do is not recorded, and so is not looked at in a run that is.
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
  "waiting: approval": "waits for a yes from a person",
};

/** What a call staged, its wish granted; or why nothing of it happens. */
export type Granted =
  | { readonly events: readonly NewEvent[]; readonly staged: readonly StagedWrite[] }
  | { readonly refused: Observation };

export async function grant(
  written: readonly CommandWrite[],
  state: AgentState,
  of: { readonly step: number; readonly callId: string },
  parts: SubagentParts | undefined,
): Promise<Granted> {
  const staged = written.filter((write) => !isSubagentRequest(write)) as readonly StagedWrite[];
  const [wish, ...more] = written.filter(isSubagentRequest);
  if (!wish) return { events: [], staged };
  const refusal = parts ? parts.refusal : "There are no other agents here.";
  if (!parts || refusal !== null) return { refused: fail("no-agents", refusal ?? "") };
  if (more.length > 0)
    return { refused: fail("command-error", "A call may start, tell or end one agent, not several.") };
  // Removed by a person; the log of this agent hears of it next.
  if (wish.kind !== "start" && childOf(state, wish.agent) && !(await parts.stateOf(wish.agent)))
    return { refused: fail("no-such-agent", `${wish.agent} was removed by a person.`) };
  const id = wish.kind === "start" ? await parts.freeId(wish.name) : "";
  const granted = grantRequest(wish, state, parts.rules, { ...of, id });
  if ("refused" in granted) return { refused: fail(granted.refused, granted.text) };
  return { events: [granted], staged };
}

const isSubagentRequest = (write: CommandWrite): write is SubagentRequest => WISHES.has(write.kind);
const WISHES: ReadonlySet<CommandWrite["kind"]> = new Set(["start", "tell", "end"]);
