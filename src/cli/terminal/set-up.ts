/**
 * set-up.ts -- the questions that define an agent: continue the last one, or a name, a role and up to five goals.
 *
 * AutoGPT's dialogue in our words. Nothing is created here.
 */
import { type AgentDraft, checkGoal, checkName, checkRole, DEFAULT_AGENT, MAX_GOALS } from "#config/agent-spec.ts";
import { saveToEnvFile } from "#config/env-file.ts";
import { isPlaceholder } from "#config/load-settings.ts";
import { oneLine } from "#core/text.ts";
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

// Lets a person without a key choose: paste one, use a server on this machine, or watch the demo.
//
// There is no default: Enter asks again. The key is not shown while it is typed, and is saved only after a yes.

export interface FoundServer {
  readonly name: string;
  readonly baseUrl: string;
  /** Names from the server; untrusted text. */
  readonly models: readonly string[];
}

export type ConnectionChoice =
  | { readonly kind: "key"; readonly apiKey: string; readonly save: boolean }
  | { readonly kind: "server"; readonly baseUrl: string; readonly model: string }
  | { readonly kind: "demo" }
  /** Ctrl-C or the end of input. */
  | { readonly kind: "left" };

const LEFT: ConnectionChoice = { kind: "left" };
const MAX_MODELS_SHOWN = 30;

export async function chooseConnection(
  input: Pick<LineInput, "askLine" | "askSecret">,
  say: (line: string) => void,
  servers: readonly FoundServer[],
): Promise<ConnectionChoice> {
  const usable = servers.filter((server) => server.models.length > 0);
  const ways: readonly (readonly [label: string, choose: () => Promise<ConnectionChoice | undefined>])[] = [
    ["paste an OpenAI key", () => askForKey(input, say)],
    ...usable.map((server) => [labelOf(server), () => askForModel(input, say, server)] as const),
    ["watch the demo: a scripted agent, no key and no network", () => Promise.resolve({ kind: "demo" } as const)],
  ];
  say("There is no model to talk to yet. You can:");
  for (const [index, [label]] of ways.entries()) say(`  ${index + 1}  ${label}`);
  for (;;) {
    const answer = await input.askLine(`Your choice (1 to ${ways.length}, Ctrl-C to leave): `);
    if (answer === undefined) return LEFT;
    const way = ways[numberIn(answer)];
    const choice = await way?.[1]();
    if (choice) return choice;
    if (!way) say(`Type a number from 1 to ${ways.length}, or press Ctrl-C to leave.`);
  }
}

/** Saves the key in a home's `.env` (0600) and keeps its other lines. Throws GOALD_CONFIG. */
export const saveKey = (envFile: string, apiKey: string): Promise<void> =>
  saveToEnvFile(envFile, "OPENAI_API_KEY", apiKey);

function labelOf({ name, baseUrl, models }: FoundServer): string {
  const count = models.length === 1 ? shown(models[0] ?? "") : `${models.length} models`;
  return `use ${shown(name)} on this machine, ${shown(baseUrl)} (${count})`;
}

/** Undefined when the pasted text is not a key. */
async function askForKey(
  input: Pick<LineInput, "askLine" | "askSecret">,
  say: (line: string) => void,
): Promise<ConnectionChoice | undefined> {
  const pasted = await input.askSecret("Your key (it is not shown): ");
  if (pasted === undefined) return LEFT;
  const apiKey = pasted.trim();
  if (!/^[\x21-\x7e]{8,1000}$/.test(apiKey) || isPlaceholder(apiKey)) {
    say("That is not a key: expected at least 8 characters without spaces.");
    return undefined;
  }
  const save = await askYesNo(
    { input, say },
    {
      question: "Keep it in this home's .env, readable by you only?",
      default: false,
      help: "  y  save the key, so that goald does not ask again\n  n  use the key for this run only",
    },
  );
  return save === undefined ? LEFT : { kind: "key", apiKey, save };
}

async function askForModel(
  input: Pick<LineInput, "askLine">,
  say: (line: string) => void,
  { baseUrl, models }: FoundServer,
): Promise<ConnectionChoice> {
  const [only, second] = models;
  if (only !== undefined && second === undefined) return { kind: "server", baseUrl, model: only };
  const listed = models.slice(0, MAX_MODELS_SHOWN);
  for (const [index, model] of listed.entries()) say(`  ${index + 1}  ${shown(model)}`);
  if (listed.length < models.length) say(`  and ${models.length - listed.length} more`);
  for (;;) {
    const answer = await input.askLine("Which model (number or name)? ");
    if (answer === undefined) return LEFT;
    const model = models.find((name) => name === answer.trim()) ?? listed[numberIn(answer)];
    if (model !== undefined) return { kind: "server", baseUrl, model };
    say("That model is not in the list. Type its number or its name.");
  }
}

/** Index from 0; -1 when the answer is not a number. */
const numberIn = (answer: string): number => (/^\s*[1-9]\d{0,3}\s*$/.test(answer) ? Number(answer) - 1 : -1);

const shown = (text: string): string => oneLine(clean(text), 80);
