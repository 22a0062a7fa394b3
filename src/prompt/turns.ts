/**
 * turns.ts -- renders what the agent remembers of its earlier turns: a user message for each, oldest first. All of it
 * is data. The input of each call has a delimiter of its own, and no quotes or escapes, so that a model can copy it and
 * nothing in it can look like another call. A message depends on the memory and the size of the context window alone:
 * it stays the same while the turn lasts, is rendered once, and a server can cache it.
 */
import type { RememberedCall, TurnMemory } from "#core/event.ts";
import type { AgentState } from "#core/state.ts";
import { clip } from "#core/text.ts";
import { rememberBy } from "#util/caches.ts";
import { clean } from "#util/outside-text.ts";
import { delimitText, describeMessageSource, formatName } from "./delimit.ts";
import { originOf } from "./subtask.ts";
import { type SizedMessage, userMessage } from "./tokens.ts";
import { fillTemplate, type Words } from "./words.ts";

/** Shares of the context window: of the newest memory, and of all older ones, which take no more tokens than the second number. */
const NEWEST_SHARE = 0.35;
const OLDER_SHARE = 0.12;
const MAX_OLDER_TOKENS = 4_000;

type FittedTurn = ReturnType<typeof fitTurn>;

/** Oldest first. None in a sub-task: its task says what it needs. */
export function fitTurns(state: AgentState, words: Words, contextTokens: number): readonly FittedTurn[] {
  const newest = originOf(state) ? undefined : state.turns.at(-1);
  if (!newest) return [];
  const shown: FittedTurn[] = [];
  let room = Math.floor(Math.min(MAX_OLDER_TOKENS, OLDER_SHARE * contextTokens));
  const maxTokens = Math.floor(NEWEST_SHARE * contextTokens);
  for (const turn of state.turns.slice(0, -1).toReversed()) {
    const fitted = fitTurn(turn, words, maxTokens);
    if (fitted.message.tokens > room) break;
    shown.unshift(fitted);
    room -= fitted.message.tokens;
  }
  return [...shown, fitTurn(newest, words, maxTokens)];
}

/** Leaves out the oldest calls until the rest fits. Then texts are clipped. The turn is returned with the calls that are shown. */
const fitTurn = rememberBy((whole: TurnMemory, words: Words, maxTokens: number) => {
  let turn = whole;
  let message = renderWhole(turn, words);
  for (let { length: left } = whole.calls; message.tokens > maxTokens && left > 1; ) {
    left = Math.min(left - 1, Math.max(1, Math.floor((left * maxTokens) / message.tokens)));
    turn = withCalls(whole, left);
    message = renderWhole(turn, words);
  }
  for (let chars = MOST_CHARS; message.tokens > maxTokens && chars >= LEAST_CHARS; chars /= 2)
    message = renderWhole(withTexts(withCalls(whole, 1), chars), words);
  return { turn, message };
});

const MOST_CHARS = 4_000;
const LEAST_CHARS = 60;

function withCalls(turn: TurnMemory, count: number): TurnMemory {
  const calls = turn.calls.slice(-count);
  return { ...turn, calls, callsLeftOut: turn.callsLeftOut + turn.calls.length - calls.length };
}

const withTexts = (turn: TurnMemory, chars: number): TurnMemory => ({
  ...turn,
  asked: turn.asked.map((text) => clip(text, chars)),
  calls: turn.calls.map(({ name, input }) => ({ name, input: clip(input, chars) })),
  artifacts: turn.artifacts.slice(-Math.ceil(chars / LEAST_CHARS)),
  output: clip(turn.output, chars),
});

function renderWhole(turn: TurnMemory, words: Words): SizedMessage {
  const { outside = [], asked, output, artifacts } = turn;
  const others =
    outside.length === 0 ? "" : `, and perhaps those of ${describeMessageSource({ source: "agent", outside })}`;
  const files =
    artifacts.length === 0 ? "" : fillTemplate(words["turns/turn-files"], { data: asData(artifacts.join("\n")) });
  const values = { turn: String(turn.turn), asked: asData(asked.join("\n")), output: asData(output) };
  const content = fillTemplate(words["turns/turn"], {
    ...values,
    source: `your own${others}`,
    calls: renderCalls(turn, words),
    files,
  });
  return userMessage(content);
}

function renderCalls({ calls, callsLeftOut }: TurnMemory, words: Words): string {
  if (calls.length === 0) return "";
  const leftOut = callsLeftOut === 0 ? "" : fillTemplate(words["turns/turn-left-out"], { count: String(callsLeftOut) });
  const listed = calls.map((call, index) => renderCall(call, index + 1, words)).join("\n");
  return fillTemplate(words["turns/turn-calls"], { "left-out": leftOut, calls: listed });
}

const renderCall = ({ name, input }: RememberedCall, number: number, words: Words): string =>
  fillTemplate(words["turns/turn-call"], { number: String(number), command: formatName(name), data: asData(input) });

const asData = (text: string): string => delimitText("data", clean(text).toWellFormed());
