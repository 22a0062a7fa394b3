/** evolve-settings.ts -- folds changes of settings and goals into the state. */
import type { AgentSettings } from "./agent-settings.ts";
import type { EventOf } from "./event.ts";
import { type At, withMessageForAll } from "./fold.ts";
import type { AgentState } from "./state.ts";

/** Settings that `given` does not name stay; null is a value. */
export function settingsWith(before: AgentSettings, given: Partial<AgentSettings>): AgentSettings {
  const names = Object.keys(before) as (keyof AgentSettings)[];
  const named = names.filter((name) => given[name] !== undefined);
  return { ...before, ...Object.fromEntries(named.map((name) => [name, given[name]])) };
}

/** Fields of a message from goald itself to the model. */
export const FROM_GOALD = { from: "goald", status: null, source: "goald" } as const;

/** The new goals are in the instructions; this message points out that they changed. */
export function goalsChanged(state: AgentState, event: EventOf<"goals-changed"> & At): AgentState {
  const changed = { ...state, goals: event.goals, goalsOutside: [], grantedApprovals: 0, refusals: 0 };
  const text = "The goals were changed just now. Those in your instructions are the ones that count.";
  return withMessageForAll(changed, event, { ...FROM_GOALD, step: state.step, kind: "feedback", text });
}
