/**
 * build.ts -- state, recalls and commands become the messages of one request.
 *
 *   system      name and role, goals, constraints, commands, resources, evaluation, response format
 *   user and    the messages of short-term memory, nine unless told otherwise, oldest first, each by itself
 *   assistant
 *   user        the time, up to ten recalls, the request for the next command
 *
 * Rules first, since they never change; what changes at every step last. All that was read from outside
 * stands behind the system message, in delimiters. The size is kept by the rule of fit.ts; what
 * cannot be made smaller and is still too long is an error before anything is sent. What a build
 * costs depends on the size of the window, never on the age of the agent: the system message and
 * each message of the window are rendered once.
 */
import { GoaldError } from "#core/errors.ts";
import type { PromptMessage } from "#core/ports/model.ts";
import type { Recall } from "#core/ports/recall.ts";
import { type AgentState, activeFrame, longestWindow } from "#core/state.ts";
import { type Fitted, fitPrompt } from "./fit.ts";
import { minimalMessage } from "./messages.ts";
import { MAX_RECALLS, recallsBlock, renderRows } from "./recalls.ts";
import { systemMessage, systemSections } from "./system.ts";
import { fill, type Words } from "./template.ts";
import { estimateMessage, estimateTokens, TOKENS_PER_REQUEST } from "./tokens.ts";

export interface PromptInput {
  readonly state: AgentState;
  /** The numbered list of commands, rendered, without a heading. */
  readonly commandList: string;
  /** Best first; the first ten count. */
  readonly recalls: readonly Recall[];
  readonly now: Date;
  readonly words: Words;
  /** The model's whole window. */
  readonly contextTokens: number;
  /** Kept free for the reply. */
  readonly replyTokens: number;
}

export interface Prompt {
  readonly messages: readonly PromptMessage[];
  /** Estimated, with what the chat format adds. */
  readonly tokens: number;
  /** Of the recalls that are shown, best first. */
  readonly recallIds: readonly string[];
  /** Events whose messages are shown, oldest first. */
  readonly shownSeqs: readonly number[];
  /** How many of the shown messages lack their middle. */
  readonly clipped: number;
  readonly dropped: { readonly recalls: number; readonly messages: number };
}

/** Throws GOALD_PROMPT_TOO_LONG when what must be said leaves too little room. */
export function buildPrompt(input: PromptInput): Prompt {
  const { state, words, contextTokens, replyTokens } = input;
  const window = activeFrame(state).window.slice(-longestWindow(state));
  const recalls = input.recalls.slice(0, MAX_RECALLS);
  const system = systemMessage(input);
  const rows = renderRows(recalls, input.now, contextTokens);
  const request = requestWith(input, window.length === 0, rows);
  const fixedTokens = TOKENS_PER_REQUEST + system.tokens + request(0).tokens;
  const fitted = fitPrompt({
    window,
    words,
    roomTokens: contextTokens - replyTokens - fixedTokens,
    recallCount: rows.length,
    recallTokens: (count) => request(count).tokens - request(0).tokens,
  });
  if (!fitted) throw tooLong(input, fixedTokens);
  return assemble(input, fitted, system, request(fitted.recallCount));
}

interface Sized {
  readonly prompt: PromptMessage;
  readonly tokens: number;
}

function assemble({ state, recalls }: PromptInput, fitted: Fitted, system: Sized, request: Sized): Prompt {
  const { messages, recallCount } = fitted;
  const parts: readonly Sized[] = [system, ...messages, request];
  return {
    messages: parts.map(({ prompt }) => prompt),
    tokens: parts.reduce((sum, { tokens }) => sum + tokens, TOKENS_PER_REQUEST),
    recallIds: recalls.slice(0, recallCount).map(({ id }) => id),
    shownSeqs: messages.map(({ message }) => message.seq),
    clipped: messages.filter(({ isClipped }) => isClipped).length,
    dropped: {
      recalls: recalls.length - recallCount,
      messages: activeFrame(state).window.length - messages.length,
    },
  };
}

/** The last message with the best `count` rows; each made at most once. */
function requestWith({ words, now }: PromptInput, isFirst: boolean, rows: readonly string[]) {
  const template = words[isFirst ? "first-command" : "next-command"];
  const time = `${now.toISOString()} (${WEEKDAYS[now.getUTCDay()]}, UTC)`;
  const made: Sized[] = [];
  return (count: number): Sized => {
    const known = made[count];
    if (known) return known;
    const content = fill(template, { time, recalls: recallsBlock(rows.slice(0, count), words) });
    const sized: Sized = { prompt: { role: "user", content }, tokens: estimateMessage(content) };
    made[count] = sized;
    return sized;
  };
}

const WEEKDAYS = ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"] as const;

function tooLong(input: PromptInput, fixedTokens: number): GoaldError {
  const { state, words, contextTokens, replyTokens } = input;
  const newest = activeFrame(state).window.at(-1);
  const newestTokens = newest ? minimalMessage(newest, words).tokens : 0;
  const sections = Object.entries(systemSections(input)).map(([name, text]) => ({
    name,
    tokens: estimateTokens(text),
  }));
  const [largest = { name: "system", tokens: 0 }] = sections.sort((a, b) => b.tokens - a.tokens);
  const remedy = REMEDIES[largest.name] ?? `shorten prompts/${largest.name}.md`;
  return new GoaldError(
    "GOALD_PROMPT_TOO_LONG",
    `The prompt needs about ${fixedTokens + newestTokens} tokens before anything can be left out, ` +
      `but ${contextTokens - replyTokens} are there: a context window of ${contextTokens} less ${replyTokens} kept for the reply. ` +
      `Its largest section is ${largest.name} with about ${largest.tokens}.`,
    {
      hint:
        `Use a model with a larger context window, keep less for the reply, or ${remedy}. ` +
        "If the model's window is larger than that, correct its number in the configuration.",
    },
  );
}

/** What a person can do about a section; for the others it is the file of that name. */
const REMEDIES: Readonly<Record<string, string>> = {
  role: "shorten the agent's name and role",
  goals: "shorten the goals; long material belongs in a file of the workspace",
  commands: "offer fewer commands",
};
