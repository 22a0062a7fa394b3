/** models.ts -- a language model with scripted replies that records its requests. */
import type { CommandCall } from "#core/call.ts";
import type { Usage } from "#core/event.ts";
import type { LanguageModel, ModelAnswer, ModelRequest } from "#core/ports/model.ts";
import type { Answer, ChatRequest } from "./openai-server.ts";

/** A reply that never comes; only the signal ends the wait. */
export const HANG = Symbol("never answers");

/** A string is a reply with finish reason `stop`. */
export type ScriptedReply = string | ModelAnswer | typeof HANG;
export type Script =
  | readonly ScriptedReply[]
  | ((request: ModelRequest, index: number) => ScriptedReply | Promise<ScriptedReply>);

export interface ScriptedModel extends LanguageModel {
  readonly requests: readonly ModelRequest[];
}

/** The texts of a request's messages. */
export const textIn = ({ messages }: { readonly messages: readonly { readonly content: string }[] }): string =>
  messages.map(({ content }) => content).join("\n");

/** After the last reply of an array every request fails with `script-over`. */
export function scriptedModel(script: Script): ScriptedModel {
  const requests: ModelRequest[] = [];
  return {
    requests,
    async complete(request, signal) {
      signal.throwIfAborted();
      const index = requests.push(structuredClone(request)) - 1;
      const reply = typeof script === "function" ? await script(request, index) : (script[index] ?? scriptOver(index));
      if (reply === HANG) return untilAborted(signal);
      signal.throwIfAborted();
      return typeof reply === "string" ? replied(reply, request) : reply;
    },
  };
}

/** A complete reply with the usage that its server reports. */
export const answered = (text: string, usage: Partial<Usage> = {}): ModelAnswer => ({
  kind: "replied",
  text,
  finishReason: "stop",
  usage: { inputTokens: 100, cachedTokens: 0, outputTokens: 10, estimated: false, ...usage },
});

function replied(text: string, { messages }: ModelRequest): ModelAnswer {
  const promptChars = messages.reduce((sum, { content }) => sum + content.length, 0);
  return answered(text, { inputTokens: Math.ceil(promptChars / 4), outputTokens: Math.ceil(text.length / 4) });
}

const scriptOver = (index: number): ModelAnswer => ({
  kind: "failed",
  code: "script-over",
  message: `The script has ${index} replies, and the model was asked once more.`,
  retry: null,
});

const untilAborted = (signal: AbortSignal): Promise<never> =>
  new Promise((_, reject) => {
    if (signal.aborted) reject(signal.reason);
    signal.addEventListener("abort", () => reject(signal.reason), { once: true });
  });

// A model that works through a list of commands and decides by the prompt alone.
//
// The model continues after the highest numbered task in its own replies and in what it remembers of earlier turns, so
// the same prompt always gets the same reply, also after the program was killed and restarted.

const SUBJECTS = ["strings", "rackets", "grips", "shoes", "balls", "courts", "coaches", "towels"] as const;
const VERBS = ["compare", "measure", "describe", "rank", "price", "photograph", "repair"] as const;

/** Returns `calls` in order, then task_complete. */
export const numberedModel =
  (calls: readonly CommandCall[]) =>
  (request: ChatRequest): string => {
    const next = highestTask(request) + 1;
    const call = calls[next - 1] ?? { name: "task_complete", args: { reason: `All ${calls.length} tasks are done.` } };
    return replyWith(call, `Task ${next} of ${calls.length}: I ${about(next)} with ${call.name}.`);
  };

/** The same in each turn, whatever it remembers of the one before. */
export const onceATurn =
  (calls: readonly CommandCall[]) =>
  ({ messages, ...request }: ChatRequest): string =>
    numberedModel(calls)({ ...request, messages: messages.filter((message) => !isTurnMemory(message)) });

const isTurnMemory = ({ content }: ChatRequest["messages"][number]): boolean =>
  content.startsWith("Your memory of turn");

/** Gives each task other words, because near-duplicates are not recalled twice. */
const about = (task: number): string =>
  `${VERBS[task % VERBS.length]} the ${SUBJECTS[task % SUBJECTS.length]} of chapter ${task * 37}`;

export function highestTask({ messages }: ChatRequest): number {
  const known = messages.filter((message) => message.role === "assistant" || isTurnMemory(message));
  const numbers = known
    .map(({ content }) => content)
    .join("\n")
    .matchAll(/Task (\d+) of|All (\d+) tasks are done/g);
  return Math.max(0, ...Array.from(numbers, ([, task, all]) => Number(task ?? all)));
}

export const replyWith = (command: CommandCall, text = "I go on."): string =>
  JSON.stringify({
    thoughts: { text, reasoning: "It is next.", plan: "- go on", criticism: "none", speak: `Now: ${command.name}.` },
    command,
  });

export const append = (text: string, file = "ledger.txt"): CommandCall => ({
  name: "append_to_file",
  args: { file, text },
});
export const write = (file: string, text: string): CommandCall => ({ name: "write_to_file", args: { file, text } });

/** Returns one append for each of the lines 1 to `count`. */
export const ledger = (count: number): readonly CommandCall[] =>
  Array.from({ length: count }, (_, at) => append(`line ${at + 1}\n`));
export const ledgerText = (count: number): string =>
  Array.from({ length: count }, (_, at) => `line ${at + 1}\n`).join("");

const modifyTask = (id: string, state: string): CommandCall => ({ name: "modify_task", args: { id, state } });
/** Adds a task with two subtasks to a plan of two goals, begins with the first, and then verifies all but the last. */
export const planned = (goal: string): readonly CommandCall[] => [
  { name: "add_task", args: { parent: "0", goal, subtasks: [{ goal: "Write" }, { goal: "Call" }] } },
  modifyTask("0.2.0", "in_progress"),
  ...["0.0", "0.1", "0.2.0"].map((id) => modifyTask(id, "verified")),
];

// A scripted model that knows only what the prompt shows.
//
// Each line has a condition on the request. The first line whose condition holds answers, so the same prompt always
// gets the same reply, also after goald was killed. A request without such a line fails the test.

/** What one request shows. */
export type Seen = ReturnType<typeof readRequest>;

export interface Line {
  /** An expression is tested on the newest message. Default: always. */
  readonly when?: RegExp | ((seen: Seen) => boolean);
  readonly say: Answer | ((seen: Seen) => Answer);
}

const TASK = /this task:\s*<words-([^>]+)>\n([\s\S]*?)\n<\/words-\1>/;

export function readRequest(request: ChatRequest) {
  const [first, ...messages] = request.messages;
  const last = messages.at(-1)?.content ?? "";
  return {
    system: first?.content ?? "",
    /** Messages after the system message, oldest first. */
    messages: messages as ChatRequest["messages"],
    /** Content of the newest message. */
    last,
    /** Content of all messages. */
    all: textIn(request),
    /** The model's own replies. */
    own: messages.flatMap((message) => (message.role === "assistant" ? [readOwn(message)] : [])),
    /** Words of the sub-task that the request is about; undefined for the agent's own goals. */
    task: TASK.exec(last)?.[2],
    request,
  };
}

/** The text of a reply with its native calls. */
const readOwn = ({ content, tool_calls: calls = [] }: ChatRequest["messages"][number]): string =>
  [content, ...calls.map(({ function: called }) => `${called.name} ${called.arguments}`)].join("\n").trim();

export const conditionalModel =
  (lines: readonly Line[]) =>
  (request: ChatRequest): Answer => {
    const seen = readRequest(request);
    const line = lines.find(({ when }) => holds(when, seen));
    if (!line) throw new Error(`No line of the script answers this:\n${seen.last}`);
    return typeof line.say === "function" ? line.say(seen) : line.say;
  };

function holds(when: Line["when"], seen: Seen): boolean {
  if (when === undefined) return true;
  return when instanceof RegExp ? when.test(seen.last) : when(seen);
}

/** A line for a sub-task whose words match. `say` gets the match. */
export const onTask = (words: RegExp, say: (match: RegExpExecArray, seen: Seen) => Answer): Line => ({
  when: ({ task }) => task !== undefined && words.test(task),
  say: (seen) => say(words.exec(seen.task ?? "") as RegExpExecArray, seen),
});
/** A line for the agent's own goals. */
export const onGoals = (when: (seen: Seen) => boolean, say: Line["say"]): Line => ({
  when: (seen) => seen.task === undefined && when(seen),
  say,
});

/** Prose with a block of code, as the code form has it. */
export const block = (code: string, language = "python", prose = "I go on."): string =>
  `${prose}\n\n\`\`\`${language}\n${code}\n\`\`\``;
/** In the code form a reply without code ends the work. */
export const DONE = "All is done.";

/** Number of the thought that a request in the react form asks for. */
export const thoughtOf = ({ last }: Seen): number =>
  Number([...last.matchAll(/THOUGHT (\d+):/g)].at(-1)?.[1] ?? Number.NaN);

/** A thought and an action, as the react form has them. */
export const action = (seen: Seen, code: string, thought = "I go on."): string =>
  ` ${thought}\n\nACTION ${thoughtOf(seen)}:\n\`\`\`python\n${code}\n\`\`\``;

/** Number of the next step, when each reply names its own. The window of messages may have lost the first ones. */
export const nextStep = ({ own }: Seen): number =>
  1 + Math.max(0, ...[...own.join("\n").matchAll(/^Step (\d+)\./gm)].map(([, number]) => Number(number)));

// One model for several agents: it finds the agent's name in the system message and works through that agent's list.

/** `calls` are lists by the agent's name; an agent without a list completes at once. */
export const subagentModel =
  (calls: Readonly<Record<string, readonly CommandCall[]>>) =>
  (request: ChatRequest): string =>
    numberedModel(calls[nameIn(request)] ?? [])(request);

/** Returns the name at the beginning of the system message, or in the job of an agent whose parent had read outside words. */
export function nameIn({ messages }: ChatRequest): string {
  const [system, job] = messages.map(({ content }) => content);
  const name = /You are ([^,]+),/.exec(system ?? "")?.[1] ?? "";
  return name === "Helper" ? (/^Name: (.+)$/m.exec(job ?? "")?.[1] ?? name) : name;
}

export const startAgent = (name: string, prompt = `Do the work of ${name}.`): CommandCall => ({
  name: "start_agent",
  args: { name, task: `helps as ${name}`, prompt },
});
export const endAgent = (key: string): CommandCall => ({ name: "delete_agent", args: { key } });
export const LIST_AGENTS: CommandCall = { name: "list_agents", args: {} };
export const messageAgent = (key: string, message: string): CommandCall => ({
  name: "message_agent",
  args: { key, message },
});
