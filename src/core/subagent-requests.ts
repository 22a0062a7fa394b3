/**
 * subagent-requests.ts -- decides whether an agent may start, message or end a sub-agent, and with which allowance.
 * Pure.
 *
 * A command stages a `SubagentRequest`. The log alone decides: depth, number of sub-agents, and the share of the
 * parent's limits. A sub-agent may never do more than its parent.
 */
import type { NewEvent, OfCall } from "./event.ts";
import { spentOf, widerLimits } from "./limits.ts";
import type { AgentState } from "./state.ts";
import type { Child, ChildAccount, ChildLimits } from "./subagent.ts";
import { findUnseenMark, oneLine } from "./text.ts";

/** A command's request about a sub-agent. */
export type SubagentRequest =
  | { readonly kind: "start"; readonly name: string; readonly task: string; readonly prompt: string }
  /** `agent`: key of a sub-agent. */
  | { readonly kind: "tell"; readonly agent: string; readonly text: string }
  | { readonly kind: "end"; readonly agent: string };

export interface SubagentRules {
  /** Maximum depth of sub-agents below a person's agent. */
  readonly maxDepth: number;
  /** Maximum number of sub-agents per agent at a time. */
  readonly maxChildren: number;
  /** Model of sub-agents; null: the model of the settings. */
  readonly model: string | null;
}

interface Refused {
  /** Machine-readable reason. */
  readonly refused: string;
  /** Reason for the model. */
  readonly text: string;
}

/** `id`: a free one for a new sub-agent. */
type RequestIds = OfCall & { readonly id: string };

const MAX_NAME_CHARS = 80;
/** A sub-agent gets this part of its parent's remaining limits, so that five in a row leave the parent a quarter of its own. */
const SHARE = 0.25;

/** The event that grants the request, or the reason for refusing it. */
export function grantRequest(
  wish: SubagentRequest,
  state: AgentState,
  rules: SubagentRules,
  of: RequestIds,
): NewEvent | Refused {
  const { step, callId } = of;
  if (wish.kind === "start") return start(wish, state, rules, of);
  const child = childOf(state, wish.agent);
  if (!child) return unknownAgent(state, wish.agent);
  if (wish.kind === "end")
    return { type: "agent-ended", agent: wish.agent, reason: `${state.name}, which started it, has ended it.` };
  // A paused one may have reached a limit.
  const limits = child.isWorking && !child.isPaused ? child.limits : shareOf(state, child);
  if ("refused" in limits) return limits;
  return { type: "agent-told", step, callId, agent: wish.agent, text: wish.text, limits };
}

/** A sub-agent that has not been ended. */
export function childOf({ children }: AgentState, key: string): ChildAccount | undefined {
  const child = Object.hasOwn(children, key) ? children[key] : undefined;
  return child?.isStopping ? undefined : child;
}

export function unknownAgent({ children }: AgentState, key: string): Refused {
  const keys = Object.entries(children).flatMap(([id, { name, isStopping }]) =>
    isStopping ? [] : [`${id} (${name})`],
  );
  const there = keys.length === 0 ? "You have none: start_agent starts one" : `Yours are: ${keys.join(", ")}`;
  const text = `Expected the key of an agent that you started, got ${JSON.stringify(oneLine(key, 80))}. ${there}.`;
  return { refused: "no-such-agent", text };
}

function start(
  { name, task, prompt }: Extract<SubagentRequest, { kind: "start" }>,
  state: AgentState,
  rules: SubagentRules,
  { step, callId, id }: RequestIds,
): NewEvent | Refused {
  const mark = findUnseenMark(name);
  if (mark) {
    const text = `The name holds a mark that nobody sees (${mark}). Write it without the mark.`;
    return { refused: "unseen-mark", text };
  }
  if ((state.startedBy?.depth ?? 0) >= rules.maxDepth) {
    const text = `No agent was started: agents may stand ${rules.maxDepth} deep, and you are the last. Do the work yourself.`;
    return { refused: "agents-too-deep", text };
  }
  if (Object.keys(state.children).length >= rules.maxChildren) return tooMany(state, rules.maxChildren);
  const limits = shareOf(state);
  if ("refused" in limits) return limits;
  const { approve, windowBatch, form, plan, commands } = state.settings;
  const child: Child = {
    name: oneLine(name, MAX_NAME_CHARS) || "Helper",
    role: task.trim() || "a helper of another agent",
    goals: [prompt.trim() || task.trim()],
    approve,
    windowBatch,
    form,
    ...(plan === "free" ? {} : { plan }),
    ...(commands === null ? {} : { commands }),
    model: rules.model,
    background: true,
    ...limits,
  };
  return { type: "agent-started", step, callId, agent: id, task, child };
}

/** Total allowance: what the sub-agent has spent, plus its share of what the parent has left; never less than what is set aside for it. */
function shareOf(state: AgentState, child?: ChildAccount): ChildLimits | Refused {
  const { stepLimit, tokenLimit, budgetUsd, deadline } = state.settings;
  const spent = spentOf(state);
  const part = (left: number): number => Math.max(0, left) * SHARE;
  const steps = stepLimit === null ? null : Math.floor(part(stepLimit - spent.steps));
  const tokens = tokenLimit === null ? null : Math.floor(part(tokenLimit - spent.tokens));
  const usd = budgetUsd === null ? null : Math.floor(part(budgetUsd - spent.usd) * MICRO) / MICRO;
  if (steps !== null && steps < 1) return tooLittle("steps", stepLimit, spent.steps);
  if (tokens !== null && tokens < 1) return tooLittle("tokens", tokenLimit, spent.tokens);
  // A budget of zero, enough for a local model, is passed on as zero.
  if (usd === 0 && budgetUsd !== 0) return tooLittle("US dollars", budgetUsd, spent.usd);
  const and = (one: number | null, before = 0): number | null => (one === null ? null : one + before);
  const limits: ChildLimits = {
    stepLimit: and(steps, child?.spent.steps),
    tokenLimit: and(tokens, child?.spent.tokens),
    budgetUsd: and(usd, child?.spent.usd),
    deadline,
  };
  return child?.isWorking ? widerLimits(limits, child.limits) : limits;
}

/** A millionth of a dollar. */
const MICRO = 1_000_000;

function tooMany({ children }: AgentState, most: number): Refused {
  const keys = Object.entries(children).map(([id, { isWorking }]) => `${id}${isWorking ? "" : " (finished)"}`);
  const text = `No agent was started: you may have ${most} at a time, and have ${keys.join(", ")}. End one with delete_agent first.`;
  return { refused: "too-many-agents", text };
}

function tooLittle(what: string, limit: number | null, spent: number): Refused {
  const text = `Nothing was started or told: of your ${limit} ${what}, ${Number(spent.toFixed(6))} are spent or set aside, and too few are left to give any away. Do the work yourself, or end an agent with delete_agent.`;
  return { refused: "too-little-left", text };
}
