/**
 * set-up.ts -- the questions that make an agent: go on with the last one, or a name, a role and up to five goals.
 *
 * AutoGPT's dialogue in our words. Enter takes the default, an empty goal ends the list, an answer that cannot be
 * used is asked for again. Nothing is created here.
 */
import { type AgentDraft, checkGoal, checkName, checkRole, DEFAULT_AGENT, MAX_GOALS } from "#config/agent-spec.ts";
import { clean } from "#util/clean.ts";
import type { LineInput } from "./ask.ts";

export type SetUp =
  | { readonly kind: "new"; readonly agent: AgentDraft }
  /** With the last agent. */
  | { readonly kind: "go-on" }
  /** By Ctrl-C or the end of input. */
  | { readonly kind: "left" };

/** `last`: the agent that could be gone on with. */
export async function setUpAgent(
  input: Pick<LineInput, "askLine">,
  say: (line: string) => void,
  last?: AgentDraft,
): Promise<SetUp> {
  if (last) {
    const answer = await askToGoOn(input, say, last);
    if (answer === undefined) return { kind: "left" };
    if (answer.trim().toLowerCase() !== "n") return { kind: "go-on" };
  }
  const agent = await askForAgent(input, say);
  return agent ? { kind: "new", agent } : { kind: "left" };
}

function askToGoOn(
  input: Pick<LineInput, "askLine">,
  say: (line: string) => void,
  { name, role, goals }: AgentDraft,
): Promise<string | undefined> {
  say(`Your last agent is not finished yet: ${clean(name)}, ${clean(role)}`);
  for (const [index, goal] of goals.entries()) say(`  Goal ${index + 1}: ${clean(goal)}`);
  return input.askLine("Go on with it? (y/n) ");
}

async function askForAgent(
  input: Pick<LineInput, "askLine">,
  say: (line: string) => void,
): Promise<AgentDraft | undefined> {
  const ask: Ask = async (question, problemWith) => {
    for (;;) {
      const answer = await input.askLine(question);
      if (answer === undefined) return undefined;
      const text = clean(answer).trim();
      const problem = text === "" ? undefined : problemWith(text);
      if (problem === undefined) return text;
      say(problem);
    }
  };
  say("A new agent: a name, a role, and what it is to reach. Enter takes what stands in brackets.");
  const name = await ask(`AI name [${DEFAULT_AGENT.name}]: `, checkName);
  if (name === undefined) return undefined;
  const named = name || DEFAULT_AGENT.name;
  const role = await ask(`${named} is [${DEFAULT_AGENT.role}]: `, checkRole);
  if (role === undefined) return undefined;
  const goals = await askForGoals(ask, say);
  return goals && { name: named, role: role || DEFAULT_AGENT.role, goals };
}

/** undefined: the person left; "": Enter. */
type Ask = (question: string, problemWith: (text: string) => string | undefined) => Promise<string | undefined>;

async function askForGoals(ask: Ask, say: (line: string) => void): Promise<readonly string[] | undefined> {
  say(`Up to ${MAX_GOALS} goals, one a line; an empty line ends them.`);
  const goals: string[] = [];
  while (goals.length < MAX_GOALS) {
    const number = goals.length + 1;
    const goal = await ask(`Goal ${number}: `, (text) => checkGoal(text, number));
    if (goal === undefined) return undefined;
    if (goal === "") break;
    goals.push(goal);
  }
  if (goals.length > 0) return goals;
  say("Then it gets these:");
  for (const [index, goal] of DEFAULT_AGENT.goals.entries()) say(`  Goal ${index + 1}: ${goal}`);
  return DEFAULT_AGENT.goals;
}
