/**
 * build.ts -- builds the messages of one request from state, recalls and commands.
 *
 *   system name and role, goals, constraints, commands, resources, evaluation, response format
 *   user only for a helper whose parent had read text from outside: its role and goals, as data
 *   user only in the forms `react` and `code`: the methods that searches found
 *   user and only in a sub-task: the messages of the larger task up to the code that gave it, and the last
 *   assistant sub-tasks with their results
 *   user only in a later turn: the memories of earlier turns, and the words that opened this one
 *   user and the messages of short-term memory, nine or more, oldest first; in the form `plan` ten actions or more
 *   assistant
 *   user the time, files, limits and helpers, the plan, up to ten recalls, the request for the next command, a hint
 *
 * Constant parts come first, so that a server can cache them. All text from outside follows the system message, in
 * delimiters. The cost of a build depends on the size of the window, never on the age of the agent.
 */
import { isActionForm } from "#core/command.ts";
import { GoaldError } from "#core/errors.ts";
import { shownWindow } from "#core/frames.ts";
import type { Recall, RecalledRow, ShownRecall } from "#core/ports/memory.ts";
import type { PromptMessage } from "#core/ports/model.ts";
import { activeFrame, type Message } from "#core/state.ts";
import { headOf } from "#core/text.ts";
import {
  type MessageStyle,
  numberMessages,
  pairCalls,
  type RenderedMessage,
  renderClipped,
  renderMessage,
  renderMinimal,
  styleOf,
  withoutNull,
} from "./messages.ts";
import { planBudget, renderPlan } from "./plan.ts";
import { fitRecalls, recordShown, renderRecalls, shownRows } from "./recalls.ts";
import { isEnding, renderSituation, type Situation } from "./situation.ts";
import { fillSubtask, originOf, renderAskedNote, renderOuter, turnRequestMessages } from "./subtask.ts";
import { renderJob, renderSections, renderSystemMessage, type SystemInput } from "./system.ts";
import { estimateTokens, type SizedMessage, TOKENS_PER_REQUEST, userMessage } from "./tokens.ts";
import { fitTurns } from "./turns.ts";
import { describeTemplate, fillTemplate, type Words } from "./words.ts";

export interface PromptInput extends SystemInput, Situation {
  /** Best first; the first ten count. */
  readonly recalls: readonly Recall[];
  /** What an earlier prompt showed of its recalls; replaces `recalls`. */
  readonly shown?: readonly Recall[];
  readonly now: Date;
  /** Size of the model's context window. */
  readonly contextTokens: number;
  /** Reserved for the reply. */
  readonly replyTokens: number;
}

export interface Prompt {
  readonly messages: readonly PromptMessage[];
  /** Estimate that includes the overhead of the chat format. */
  readonly tokens: number;
  /** Shown recalls, best first. */
  readonly recallIds: readonly string[];
  /** What is shown of those recalls that are not shown whole and alone. */
  readonly shown: readonly ShownRecall[];
  /** All rows of memory that are shown. */
  readonly recalledRows: readonly RecalledRow[];
}

/** Throws GOALD_PROMPT_TOO_LONG when the fixed parts leave too little room for the newest message. */
export function buildPrompt(input: PromptInput): Prompt {
  const prompt = buildWithin(input, planBudget(input.contextTokens));
  // The tree of the plan is the only fixed part that can be shorter.
  const built = "fixedTokens" in prompt ? buildWithin(input, 0) : prompt;
  if ("fixedTokens" in built) throw createTooLongError(input, built.fixedTokens);
  return built;
}

/** Returns the tokens of the fixed parts when they leave too little room. */
function buildWithin(input: PromptInput, planTokens: number): Prompt | { readonly fixedTokens: number } {
  const { state, words, contextTokens, replyTokens, form } = input;
  const window = withoutNull(shownWindow(state, activeFrame(state)), form);
  const system = renderSystemMessage(input);
  const plan = renderPlan(state, words, form, {
    maxTokens: planTokens,
    isEnding: isEnding(state, input.step ?? state.step + 1),
  });
  const job = renderJob(state, words);
  const first = [system, ...(job === undefined ? [] : [userMessage(job)]), ...renderMethods(input)];
  const turns = fitTurns(state, words, contextTokens).map(({ message }) => message);
  const note = renderAskedNote(state, words);
  const asked = turnRequestMessages(state);
  const outer = renderOuter(state, words, form);
  const renderRequest = createRequestRenderer(input, window.length === 0, plan);
  const bare = renderRequest([]);
  const fixedTokens = TOKENS_PER_REQUEST + sumTokens([...first, ...note, bare]);
  const roomTokens = contextTokens - replyTokens - fixedTokens;
  const style = styleOf(form, activeFrame(state));
  const fitWith = (recalls: readonly Recall[]) => {
    const made = [bare];
    const request = (count: number): SizedMessage => (made[count] ??= renderRequest(recalls.slice(0, count)));
    const recallTokens = (count: number): number => request(count).tokens - bare.tokens;
    const sizes = { roomTokens, recallCount: recalls.length, recallTokens };
    const fitted = fitPrompt({ outer, turns, asked, window, words, style, ...sizes });
    return fitted && { fitted, recalls, request: request(fitted.recallCount) };
  };
  const isWhole = ({ messages, recallCount, outerCount, turnCount }: FittedPrompt, count: number): boolean =>
    recallCount === count &&
    messages.length + outerCount + turnCount === asked.length + window.length + outer.length + turns.length &&
    !messages.some(({ isClipped }) => isClipped);
  let built = fitWith(input.shown ?? fitRecalls(input.recalls, contextTokens));
  // The rows around recalls give way before anything else does.
  if (built && !input.shown && !isWhole(built.fitted, built.recalls.length))
    built = fitWith(built.recalls.map((recall) => ({ ...recall, around: [] })));
  if (!built) return { fixedTokens };
  const { messages, recallCount, outerCount, turnCount } = built.fitted;
  const shownOuter = outer.slice(outer.length - outerCount);
  const shownTurns = turns.slice(turns.length - turnCount);
  const parts: readonly SizedMessage[] = [...first, ...shownOuter, ...shownTurns, ...note, ...messages, built.request];
  const shown = built.recalls.slice(0, recallCount);
  return {
    messages: pairCalls(parts.map(({ prompt }) => prompt)),
    tokens: TOKENS_PER_REQUEST + sumTokens(parts),
    recallIds: shown.map(({ id }) => id),
    shown: recordShown(shown),
    recalledRows: shownRows(shown),
  };
}

/** Returns a renderer of the last message with these recalls. */
function createRequestRenderer(input: PromptInput, isFirst: boolean, plan: ReturnType<typeof renderPlan>) {
  const { state, words, now, form } = input;
  const origin = originOf(state);
  const shared = {
    time: `${now.toISOString()} (${WEEKDAYS[now.getUTCDay()]}, UTC)`,
    situation: renderSituation(state, { ...input, foundLines: listFound(input) }, words, form),
    answer: "answer" in form ? fillTemplate(words[form.answer]) : "",
    start: isFirst && "first" in form ? fillTemplate(words[form.first]) : "",
    number: String(numberMessages(activeFrame(state)).next),
    opening: isFirst && !origin ? "" : fillTemplate(words["react/opening"]),
    ...plan,
  };
  return (recalls: readonly Recall[]): SizedMessage => {
    const values = { ...shared, recalls: renderRecalls(recalls, words) };
    const content = origin ? fillSubtask(origin, words, form, values) : fillTemplate(words[form.next], values);
    // Without a hint its template ends in blank lines.
    return userMessage(content.trimEnd());
  };
}

/** The found methods that the list of commands lacks, for replies with a command. */
function listFound({ form, ...input }: PromptInput): string {
  const parts = "found" in form ? form.found.map((part) => input[part] ?? "") : [];
  return parts.filter((lines) => lines !== "").join("\n");
}

/**
 * A message with the methods that searches found, only in the forms that call them in code. It leaves out those in a
 * message that is shown, so it changes at a search and when messages are dropped.
 */
function renderMethods({ state, words, form, found }: PromptInput): readonly SizedMessage[] {
  if (!isActionForm(form.form)) return [];
  const shown = activeFrame(state).window.map(({ text }) => headOf(text));
  const lines = (found ?? []).filter((line) => !shown.some((text) => text.includes(line)));
  return lines.length === 0 ? [] : [userMessage(fillTemplate(words["react/methods"], { methods: lines.join("\n") }))];
}

const WEEKDAYS = ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"] as const;

function createTooLongError(input: PromptInput, fixedTokens: number): GoaldError {
  const { state, words, contextTokens, replyTokens, form } = input;
  const style = { form, numberOf: () => 1 };
  const kept = [...turnRequestMessages(state), ...activeFrame(state).window.slice(-1)];
  const keptTokens = kept.reduce((sum, message) => sum + renderMinimal(message, words, style).tokens, 0);
  const parts = { ...renderSections(input), [form.plan]: renderPlan(state, words, form, { maxTokens: 0 }).plan };
  const sections = Object.entries(parts).map(([name, text]) => ({ name, tokens: estimateTokens(text) }));
  const [largest = { name: "system", tokens: 0 }] = sections.sort((a, b) => b.tokens - a.tokens);
  const remedy = REMEDIES[largest.name] ?? `shorten ${describeTemplate(largest.name)} in prompts/`;
  return new GoaldError(
    "GOALD_PROMPT_TOO_LONG",
    `The prompt needs about ${fixedTokens + keptTokens} tokens before anything can be left out, ` +
      `but only ${contextTokens - replyTokens} are available: a context window of ${contextTokens} less ${replyTokens} reserved for the reply. ` +
      `Its largest section is ${largest.name} with about ${largest.tokens}.`,
    {
      hint:
        `Use a model with a larger context window, reserve less for the reply, or ${remedy}. ` +
        "If the model's window is larger, correct its size in the configuration.",
    },
  );
}

/** Remedies for parts that are not a section in prompts/. */
const REMEDIES: Readonly<Record<string, string>> = {
  role: "shorten the agent's name and role",
  goals: "shorten the goals; long material belongs in a file of the workspace",
  commands: "offer fewer commands",
  functions: "offer fewer commands",
};

type Sized = Pick<SizedMessage, "tokens">;

interface FitInput {
  /** In a sub-task: messages of the larger task, oldest first. */
  readonly outer: readonly Sized[];
  /** Memories of earlier turns, oldest first. */
  readonly turns: readonly Sized[];
  /** Messages that opened the turn, oldest first. */
  readonly asked: readonly Message[];
  /** Oldest first. */
  readonly window: readonly Message[];
  readonly words: Words;
  readonly style: MessageStyle;
  /** Tokens for messages, memories and recalls together. */
  readonly roomTokens: number;
  readonly recallCount: number;
  /** Tokens that the best `count` recalls add to the final message. */
  recallTokens(count: number): number;
}

interface FittedPrompt {
  /** Messages that opened the turn, then those of the window. */
  readonly messages: readonly RenderedMessage[];
  readonly recallCount: number;
  /** Messages of the larger task that stay, the newest. */
  readonly outerCount: number;
  /** Memories of turns that stay, the newest. */
  readonly turnCount: number;
}

/** Messages are not clipped below this size to make room for recalls or older messages. */
const MIN_CAP_TOKENS = 200;

/**
 * Selects and clips messages, memories of turns and recalls until they fit the room of a prompt. Messages of a larger
 * task take at most half of the room. The steps, in this order, each only as far as needed:
 *   0. Messages of the larger task are dropped, oldest first.
 *   1. Memories of older turns are dropped, oldest first. That of the newest turn stays.
 *   2. Messages longer than the cap are clipped in the middle, oldest first. The cap is half of an equal
 *      share of the room, so the newest messages stay whole longest.
 *   3. Recalls are dropped, worst first.
 *   4. Messages are dropped, oldest first, except the newest and those that opened the turn.
 *   5. What is left of the messages is clipped to equal shares of the remaining room, the longest most. It is never
 *      dropped.
 *   6. The memory of the newest turn is dropped.
 * The system message and the request for the next command never change: the room is what they leave. Returns undefined
 * when even the messages that are never dropped, clipped to their frames, do not fit.
 */
function fitPrompt(input: FitInput): FittedPrompt | undefined {
  const { outer, turns, asked, window, words, style, recallTokens } = input;
  const messages = [...asked, ...window].map((message) => renderMessage(message, words, style));
  const otherTokens = sumTokens(messages) + recallTokens(input.recallCount);
  const { outerCount, roomTokens } = fitOuter(outer, input.roomTokens, otherTokens + sumTokens(turns));
  let turnCount = turns.length;
  while (turnCount > 1 && sumTokens(turns.slice(-turnCount)) + otherTokens > roomTokens) turnCount--;
  const fitWith = (count: number): FittedPrompt | undefined => {
    const left = roomTokens - (count === 0 ? 0 : sumTokens(turns.slice(-count)));
    const fitted = fitMessages(messages, left, input);
    return fitted && { ...fitted, outerCount, turnCount: count };
  };
  return fitWith(turnCount) ?? (turnCount > 0 ? fitWith(0) : undefined);
}

function fitMessages(
  whole: readonly RenderedMessage[],
  roomTokens: number,
  input: FitInput,
): Pick<FittedPrompt, "messages" | "recallCount"> | undefined {
  const { asked, recallTokens } = input;
  let messages = whole;
  let { recallCount } = input;
  let room = roomTokens - recallTokens(recallCount);
  if (sumTokens(messages) <= room) return { messages, recallCount };

  messages = clipOldestFirst(messages, input, room);
  while (recallCount > 0 && sumTokens(messages) > room) {
    recallCount--;
    room = roomTokens - recallTokens(recallCount);
  }
  while (messages.length > asked.length + 1 && sumTokens(messages) > room)
    messages = messages.toSpliced(asked.length, 1);
  if (messages.length <= asked.length + 1) messages = clipToShares(messages, input, room);
  return sumTokens(messages) <= room ? { messages, recallCount } : undefined;
}

/** Returns how many of the newest messages of the larger task stay, and the room that they leave. */
function fitOuter(outer: readonly Sized[], room: number, otherTokens: number) {
  const most = Math.min(room / 2, room - otherTokens);
  let outerCount = 0;
  let tokens = 0;
  for (const message of outer.toReversed()) {
    if (tokens + message.tokens > most) break;
    tokens += message.tokens;
    outerCount++;
  }
  return { outerCount, roomTokens: room - tokens };
}

function clipOldestFirst(
  messages: readonly RenderedMessage[],
  { words, style }: FitInput,
  room: number,
): RenderedMessage[] {
  const cap = Math.max(MIN_CAP_TOKENS, Math.floor(room / (2 * messages.length)));
  let excess = sumTokens(messages) - room;
  return messages.map((message) => {
    if (excess <= 0 || message.tokens <= cap) return message;
    const clipped = renderClipped(message, words, Math.max(cap, message.tokens - excess), style);
    excess -= message.tokens - clipped.tokens;
    return clipped;
  });
}

/** A message that is shorter than its share leaves the rest to the others. */
function clipToShares(
  messages: readonly RenderedMessage[],
  { words, style }: FitInput,
  room: number,
): readonly RenderedMessage[] {
  if (sumTokens(messages) <= room) return messages;
  let left = room;
  const shares = new Map<RenderedMessage, RenderedMessage>();
  for (const [index, message] of messages.toSorted((a, b) => a.tokens - b.tokens).entries()) {
    const share = Math.floor(left / (messages.length - index));
    const clipped =
      message.tokens <= share
        ? message
        : renderClipped(renderMessage(message.message, words, style), words, share, style);
    left -= clipped.tokens;
    shares.set(message, clipped);
  }
  return messages.map((message) => shares.get(message) ?? message);
}

const sumTokens = (messages: readonly Sized[]): number => messages.reduce((sum, { tokens }) => sum + tokens, 0);
