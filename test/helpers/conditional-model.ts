/**
 * conditional-model.ts -- a scripted model that knows only what the prompt shows.
 *
 * Each line has a condition on the request. The first line whose condition holds answers, so the same prompt always gets the same
 * reply, also after goald was killed. A request without such a line fails the test.
 */
import type { Answer, ChatRequest } from "./openai-answers.ts";

/** What one request shows. */
export interface Seen {
  readonly system: string;
  /** Messages after the system message, oldest first. */
  readonly messages: ChatRequest["messages"];
  /** Content of the newest message. */
  readonly last: string;
  /** Content of all messages. */
  readonly all: string;
  /** The model's own replies. */
  readonly own: readonly string[];
  /** Words of the sub-task that the request is about; undefined for the agent's own goals. */
  readonly task: string | undefined;
  readonly request: ChatRequest;
}

export interface Line {
  /** An expression is tested on the newest message. Default: always. */
  readonly when?: RegExp | ((seen: Seen) => boolean);
  readonly say: Answer | ((seen: Seen) => Answer);
}

const TASK = /this task:\s*<words-([^>]+)>\n([\s\S]*?)\n<\/words-\1>/;

export function readRequest(request: ChatRequest): Seen {
  const [first, ...messages] = request.messages;
  const last = messages.at(-1)?.content ?? "";
  return {
    system: first?.content ?? "",
    messages,
    last,
    all: request.messages.map(({ content }) => content).join("\n"),
    own: messages.flatMap((message) => (message.role === "assistant" ? [readOwn(message)] : [])),
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
