/**
 * set-up.ts -- the questions of a first run: which model, the agent's name, role and goals, when it asks, what it
 * spends. The agent's questions are AutoGPT's dialogue in our words. Nothing is created or kept here. Each question
 * resolves to undefined when the person leaves by Ctrl-C or the end of input.
 */
import { type AgentDraft, checkGoal, checkName, checkRole, DEFAULT_AGENT, MAX_GOALS } from "#config/agent-spec.ts";
import { isPlaceholder } from "#config/load-settings.ts";
import { webAddress, withScheme } from "#config/setting-row.ts";
import type { ApprovalMode } from "#core/agent-settings.ts";
import { toError } from "#core/errors.ts";
import { oneLine } from "#core/text.ts";
import { clean } from "#util/outside-text.ts";
import type { LineInput } from "./line-input.ts";
import { askText, askYesNo, type QuestionScreen } from "./questions.ts";

/** True: continue the last agent, which is not finished. */
export function askToContinue(screen: QuestionScreen, { name, role, goals }: AgentDraft): Promise<boolean | undefined> {
  screen.say(`Your last agent is not finished yet: ${clean(name)}, ${clean(role)}`);
  for (const [index, goal] of goals.entries()) screen.say(`  Goal ${index + 1}: ${clean(goal)}`);
  return askYesNo(screen, {
    question: "Go on with it?",
    default: true,
    help: "  y  continue this agent where it stopped\n  n  set up a new agent; this one stays as it is",
  });
}

export interface SetUpScreen extends QuestionScreen {
  input(): Pick<LineInput, "askLine" | "askSecret" | "takeTypedAhead">;
}

export async function askForAgent(screen: SetUpScreen): Promise<AgentDraft | undefined> {
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
  if (goals.length === MAX_GOALS) refuseMoreGoals(await screen.input().takeTypedAhead(), screen);
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

export interface Terms {
  readonly approve?: ApprovalMode;
  /** US dollars; Infinity: no limit. */
  readonly budget?: number;
}

/** Asks for what is present. `approve`: what Enter means. */
export async function askForTerms(
  screen: QuestionScreen,
  { approve, budget }: { readonly approve?: ApprovalMode; readonly budget?: BudgetQuestion },
): Promise<Terms | undefined> {
  const asked = approve ? await askForMode(screen, approve) : null;
  if (asked === undefined) return undefined;
  const terms = asked === null ? {} : { approve: asked };
  if (!budget) return terms;
  const usd = await askText(screen, {
    question: `Budget in US dollars, or none [${Number.isFinite(budget.initial) ? budget.initial : "none"}]: `,
    help: "The agent pauses before it spends more. You can allow more when you continue it.",
    problemWith: (text) => {
      try {
        budget.read(text);
        return undefined;
      } catch (thrown) {
        return toError(thrown).message;
      }
    },
  });
  return usd === undefined ? undefined : { ...terms, budget: usd === "" ? budget.initial : budget.read(usd) };
}

const MODES: Readonly<Record<string, ApprovalMode>> = { all: "always", risky: "risky", none: "never" };

async function askForMode(screen: QuestionScreen, approve: ApprovalMode): Promise<ApprovalMode | undefined> {
  const initial = Object.keys(MODES).find((word) => MODES[word] === approve) ?? "all";
  const word = await askText(screen, {
    question: `Ask before which commands: all, risky or none? [${initial}] `,
    help: "  all    before each command\n  risky  before commands that reach outside, or that goald cannot restore\n  none   never",
    problemWith: (text) => (Object.hasOwn(MODES, text) ? undefined : "Answer all, risky or none; ? explains."),
  });
  return word === undefined ? undefined : MODES[word || initial];
}

/** `initial`: what Enter means, Infinity for none. `read` throws an Error for a text that is no budget. */
export interface BudgetQuestion {
  readonly initial: number;
  read(text: string): number;
}

export interface FoundServer {
  readonly name: string;
  readonly baseUrl: string;
  /** Names from the server; untrusted text. */
  readonly models: readonly string[];
}

/** Absent members have the values of the settings. */
export interface ServerChoice {
  readonly baseUrl?: string;
  readonly apiKey?: string;
  readonly model?: string;
}

export type ConnectionChoice =
  | { readonly kind: "server"; readonly server: ServerChoice; readonly save: boolean }
  | { readonly kind: "demo" }
  | { readonly kind: "left" };

/** The questions ask servers by it. `problem`: a sentence that says why the server cannot be used. */
export interface ServerProbe {
  readonly found: readonly FoundServer[];
  /** Lists the models for chat; undefined when the server has no list. */
  list(server: ServerChoice): Promise<readonly string[] | undefined | { readonly problem: string }>;
  /** Sends one request, and resolves to a sentence about the answer. */
  test(server: ServerChoice): Promise<string | { readonly problem: string }>;
}

const LEFT = { kind: "left" } as const;
const MAX_MODELS_SHOWN = 30;
type Asked = ServerChoice | typeof LEFT | undefined;

/**
 * Lets a person without a model choose: a server on this machine, another address, a key, or the demo. There is no
 * default: Enter asks again. A key is not shown while it is typed. A server is used only after it has answered one
 * request, and kept only after a yes. `envFile`: where the choice would be kept.
 */
export async function chooseConnection(
  screen: SetUpScreen,
  probe: ServerProbe,
  envFile: string,
): Promise<ConnectionChoice> {
  const { input, say } = screen;
  const usable = probe.found.filter((server) => server.models.length > 0);
  const ways: readonly (readonly [label: string, choose: () => Promise<Asked>])[] = [
    ...usable.map((server) => [labelOf(server), () => askForModel(screen, server, server.models)] as const),
    ["type the address of another server", () => askForAddress(screen, probe)],
    ["paste an OpenAI key", () => askForKey(screen)],
  ];
  const count = ways.length + 1;
  say("There is no model to talk to yet. You can:");
  for (const [index, [label]] of ways.entries()) say(`  ${index + 1}  ${label}`);
  say(`  ${count}  watch the demo: a scripted agent, no key and no network`);
  for (;;) {
    const answer = await input().askLine(`Your choice (1 to ${count}, Ctrl-C to leave): `);
    if (answer === undefined) return LEFT;
    const number = numberIn(answer);
    if (number === ways.length) return { kind: "demo" };
    const way = ways[number];
    if (!way) say(`Type a number from 1 to ${count}, or press Ctrl-C to leave.`);
    const server = await way?.[1]();
    if (server && "kind" in server) return LEFT;
    if (!server || !(await answers(screen, probe, server))) continue;
    const save = await askYesNo(screen, {
      question: `Keep this in ${envFile}, which only you can read?`,
      default: true,
      help: "  y  goald does not ask again\n  n  for this run only",
    });
    return save === undefined ? LEFT : { kind: "server", server, save };
  }
}

async function answers({ say }: QuestionScreen, probe: ServerProbe, server: ServerChoice): Promise<boolean> {
  say("One request, to see that it answers …");
  const tested = await probe.test(server);
  say(clean(typeof tested === "string" ? tested : tested.problem));
  return typeof tested === "string";
}

function labelOf({ name, baseUrl, models }: FoundServer): string {
  const count = models.length === 1 ? shown(models[0] ?? "") : `${models.length} models`;
  return `use ${shown(name)} on this machine, ${shown(baseUrl)} (${count})`;
}

/** Undefined when the pasted text is not a key. */
async function askForKey({ input, say }: SetUpScreen): Promise<Asked> {
  const pasted = await input().askSecret("Your key (it is not shown): ");
  if (pasted === undefined) return LEFT;
  const apiKey = pasted.trim();
  if (/^[\x21-\x7e]{8,1000}$/.test(apiKey) && !isPlaceholder(apiKey)) return { apiKey };
  say("That is not a key: expected at least 8 characters without spaces.");
  return undefined;
}

/** Undefined when the server cannot be used. */
async function askForAddress(screen: SetUpScreen, probe: ServerProbe): Promise<Asked> {
  const baseUrl = await askText(screen, {
    question: "Its address, such as http://127.0.0.1:11434/v1: ",
    help: "The base URL of a server with OpenAI's chat completions. It often ends in /v1.",
    problemWith: (text) => (ADDRESS.test(withScheme(text)) ? undefined : `Expected ${webAddress.expected}.`),
  });
  if (baseUrl === undefined) return LEFT;
  if (baseUrl === "") return undefined;
  const key = await screen.input().askSecret("Its key (it is not shown; Enter: it needs none): ");
  if (key === undefined) return LEFT;
  const server = { baseUrl: withScheme(baseUrl), ...(key.trim() === "" ? {} : { apiKey: key.trim() }) };
  const listed = await probe.list(server);
  if (listed && "problem" in listed) screen.say(clean(listed.problem));
  else if (listed?.length !== 0) return askForModel(screen, server, listed ?? []);
  else screen.say("It has no models for chat.");
  return undefined;
}

const ADDRESS = new RegExp(webAddress.schema.pattern);

/** `models`: empty when the server has no list. Then any name counts. */
async function askForModel(
  { input, say }: SetUpScreen,
  { baseUrl, apiKey }: ServerChoice,
  models: readonly string[],
): Promise<Asked> {
  const chosen = { ...(baseUrl ? { baseUrl } : {}), ...(apiKey ? { apiKey } : {}) };
  const [only, second] = models;
  if (only !== undefined && second === undefined) return { ...chosen, model: only };
  const listed = models.slice(0, MAX_MODELS_SHOWN);
  for (const [index, model] of listed.entries()) say(`  ${index + 1}  ${shown(model)}`);
  if (listed.length < models.length) say(`  and ${models.length - listed.length} more`);
  for (;;) {
    const answer = await input().askLine(only === undefined ? "Name of its model: " : "Which model (number or name)? ");
    if (answer === undefined) return LEFT;
    const name = answer.trim();
    const model = models.find((one) => one === name) ?? listed[numberIn(answer)];
    if (model !== undefined) return { ...chosen, model };
    if (only === undefined && name !== "") return { ...chosen, model: clean(name) };
    if (only !== undefined) say("That model is not in the list. Type its number or its name.");
  }
}

/** Index from 0; -1 when the answer is not a number. */
const numberIn = (answer: string): number => (/^\s*[1-9]\d{0,3}\s*$/.test(answer) ? Number(answer) - 1 : -1);

const shown = (text: string): string => oneLine(clean(text), 80);
