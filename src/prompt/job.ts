/**
 * job.ts -- the role and goals that another agent wrote after it had read text from outside, as data in a user message.
 *
 * The system message then has neutral words in their place. A person who sets the goals, or trusts all words, ends this.
 */
import type { AgentState } from "#core/state.ts";
import { clean } from "#util/outside-text.ts";
import { delimitText } from "./delimit.ts";
import { describeMessageSource } from "./describe-source.ts";
import { fillTemplate, type Words } from "./template.ts";

const isTrusted = ({ startedBy, trustedSeq }: AgentState): boolean =>
  trustedSeq > 0 || startedBy === null || startedBy.outside.length === 0;

/** True when the role may hold words from outside. */
export const hasOutsideRole = (state: AgentState): boolean => !isTrusted(state);

/** True when the goals may hold words from outside. */
export const hasOutsideGoals = (state: AgentState): boolean => hasOutsideRole(state) && state.goalsOutside.length > 0;

/** The same text at every step; undefined when a person wrote role and goals, or an agent that had read nothing from outside. */
export function renderJob(state: AgentState, words: Words): string | undefined {
  const { name, role, goals, startedBy } = state;
  if (!startedBy || !hasOutsideRole(state)) return undefined;
  const job = hasOutsideGoals(state) ? goals.map((goal, index) => `Goal ${index + 1}: ${goal}`) : [];
  const text = clean([`Name: ${name}`, `Role: ${role}`, ...job].join("\n")).toWellFormed();
  const outside = describeMessageSource({ source: "agent", outside: startedBy.outside });
  return fillTemplate(words["outside-job"], { data: delimitText("data", text), outside });
}
