/**
 * set-up.ts -- the questions that define an agent: continue the last one, or a name, a role and up to five goals.
 *
 * AutoGPT's dialogue in our words. Nothing is created here.
 */
import { type AgentDraft, checkGoal, checkName, checkRole, DEFAULT_AGENT, MAX_GOALS } from "#config/agent-spec.ts";
import { clean } from "#util/outside-text.ts";
import type { LineInput } from "./line-input.ts";
import { askText, askYesNo, type QuestionScreen } from "./questions.ts";

export type SetUp =
  | { readonly kind: "new"; readonly agent: AgentDraft }
  /** Continue the last agent. */
  | { readonly kind: "go-on" }
  /** Ctrl-C or the end of input. */
  | { readonly kind: "left" };

/** `last`: the unfinished agent that the person may continue. */
export async function setUpAgent(
  input: Pick<LineInput, "askLine" | "takeTypedAhead">,
  say: (line: string) => void,
  last?: AgentDraft,
): Promise<SetUp> {
  const screen: QuestionScreen = { input, say };
  if (last) {
    const isContinued = await askToContinue(screen, last);
    if (isContinued === undefined) return { kind: "left" };
    if (isContinued) return { kind: "go-on" };
  }
  const agent = await askForAgent(screen, () => input.takeTypedAhead());
  return agent ? { kind: "new", agent } : { kind: "left" };
}

function askToContinue(screen: QuestionScreen, { name, role, goals }: AgentDraft): Promise<boolean | undefined> {
  screen.say(`Your last agent is not finished yet: ${clean(name)}, ${clean(role)}`);
  for (const [index, goal] of goals.entries()) screen.say(`  Goal ${index + 1}: ${clean(goal)}`);
  return askYesNo(screen, {
    question: "Go on with it?",
    default: true,
    help: "  y  continue this agent where it stopped\n  n  set up a new agent; this one stays as it is",
  });
}

async function askForAgent(
  screen: QuestionScreen,
  takeTypedAhead: () => Promise<readonly string[]>,
): Promise<AgentDraft | undefined> {
  screen.say("A new agent: a name, a role and its goals. Enter takes the value in brackets.");
  const name = await askText(screen, {
    question: `AI name [${DEFAULT_AGENT.name}]: `,
    help: "The agent's name. Its folder and id come from it, such as workspace/goald.",
    problemWith: checkName,
  });
  if (name === undefined) return undefined;
  const named = name || DEFAULT_AGENT.name;
  const role = await askText(screen, {
    question: `${named} is [${DEFAULT_AGENT.role}]: `,
    help: "What the agent is, in a few words, such as: an assistant that plans meals.",
    problemWith: checkRole,
  });
  if (role === undefined) return undefined;
  const goals = await askForGoals(screen);
  if (!goals) return undefined;
  if (goals.length === MAX_GOALS) refuseMoreGoals(await takeTypedAhead(), screen);
  return { name: named, role: role || DEFAULT_AGENT.role, goals };
}

async function askForGoals(screen: QuestionScreen): Promise<readonly string[] | undefined> {
  screen.say(`Up to ${MAX_GOALS} goals, one per line; an empty line ends the list.`);
  const goals: string[] = [];
  while (goals.length < MAX_GOALS) {
    const number = goals.length + 1;
    const goal = await askText(screen, {
      question: `Goal ${number}: `,
      help: "One goal in a sentence, such as: Write a plan for a week to plan.md.",
      problemWith: (text) => checkGoal(text, number),
    });
    if (goal === undefined) return undefined;
    if (goal === "") break;
    goals.push(goal);
  }
  if (goals.length > 0) return goals;
  screen.say("No goals given; the agent gets these:");
  for (const [index, goal] of DEFAULT_AGENT.goals.entries()) screen.say(`  Goal ${index + 1}: ${goal}`);
  return DEFAULT_AGENT.goals;
}

/** Lines that were pasted behind the fifth goal would otherwise reach the agent as words. */
function refuseMoreGoals(pasted: readonly string[], { say }: QuestionScreen): void {
  const more = pasted.map((line) => clean(line).trim()).filter((line) => line !== "");
  if (more.length === 0) return;
  say(`An agent has up to ${MAX_GOALS} goals. Left out:`);
  for (const goal of more) say(`  ${goal}`);
  say('Give them to the agent later, with: goald say <agent> "…"');
}
