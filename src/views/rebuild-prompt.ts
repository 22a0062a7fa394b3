/**
 * rebuild-prompt.ts -- rebuilds the prompt of a step from the log, and checks its hash against the request's. Pure.
 *
 * The log holds a prompt's hash and which characters of which memories it showed, not its text. The same state, memories, words, commands and context size give
 * the same prompt except for the time in it, which is up to a second before the request's: each millisecond is tried. When no
 * hash matches, words, commands or settings have changed, and the result is a reconstruction.
 */
import { isGoaldError } from "#core/errors.ts";
import type { EventOf, RecordedEvent } from "#core/event.ts";
import { shownIds } from "#core/memory.ts";
import type { MemoryRow } from "#core/ports/memory.ts";
import type { PromptMessage } from "#core/ports/model.ts";
import type { AgentState } from "#core/state.ts";
import { buildPrompt } from "#prompt/build.ts";
import { readShown } from "#prompt/recalls.ts";
import type { CommandOffer } from "#prompt/system.ts";
import { type Words, wordsOfMode } from "#prompt/words.ts";
import { described, flag, listOf, oneOf, open, type Static, text } from "#util/schema.ts";
import { hashRequest } from "./request-hash.ts";

export const RebuiltPrompt = open({
  messages: listOf(open({ role: oneOf("system", "user", "assistant"), content: text })),
  exact: described(flag, "True when its hash equals the hash of the request that was sent."),
  note: described(text, "Why it is not exact; empty when it is."),
});
export type RebuiltPrompt = Static<typeof RebuiltPrompt>;

export interface RebuildParts {
  /** Returns the commands that the agent may use in this state. */
  commandsFor(state: AgentState): CommandOffer;
  readonly words: Words;
  readonly contextTokens: number;
  readonly replyTokens: number;
}

type Asked = EventOf<"model-asked"> & Pick<RecordedEvent, "at" | "seq">;

/** Longest time from the time in a prompt to the time of its event: building and hashing. */
const MAX_BUILD_MS = 1_000;

/** `state`: before the request. `rows`: those that the request showed, in any order, without those that were removed. */
export function rebuildPrompt(
  asked: Asked,
  state: AgentState,
  rows: readonly MemoryRow[],
  parts: RebuildParts,
): RebuiltPrompt {
  try {
    const at = new Date(asked.at);
    const known = new Map(rows.map((row) => [row.id, asRecalled(row, asked.seq)]));
    const recalls = asked.recallIds.flatMap((id) => known.get(id) ?? []).map((row) => ({ ...row, score: 0 }));
    // Older events do not record what was shown of the recalls.
    const recorded = asked.shown ? { shown: readShown(asked.recallIds, asked.shown, known) } : {};
    const shown = {
      ...parts.commandsFor(state),
      form: wordsOfMode(asked.mode),
      state,
      step: asked.step,
      folder: asked.folder,
    };
    const { messages } = buildPrompt({ ...parts, ...shown, ...recorded, recalls, now: at });
    const sent = sentMessages(asked, messages, at);
    return sent ? { messages: sent, exact: true, note: "" } : { messages, exact: false, note: noteOn(asked, rows) };
  } catch (error) {
    if (!isGoaldError(error, "GOALD_PROMPT_TOO_LONG")) throw error;
    return { messages: [], exact: false, note: `The prompt can no longer be built. ${error.message}` };
  }
}

/** The row without a mark that a later event, or a person's pin, has given or taken. */
export function asRecalled({ closed, ...row }: MemoryRow, seq: number): MemoryRow {
  const closedAt = Number(/\/(\d+)(?:\.\d+)?$/.exec(closed?.by ?? "")?.[1] ?? 0);
  return closed && closedAt < seq && !row.pinned ? { ...row, closed } : row;
}

/** The messages with the time that gives the request's hash; undefined when no time does. */
function sentMessages(
  asked: Asked,
  messages: readonly PromptMessage[],
  at: Date,
): readonly PromptMessage[] | undefined {
  const last = messages.at(-1);
  if (!last) return undefined;
  const shown = timeLine(at);
  const place = last.content.lastIndexOf(shown);
  if (place < 0) return undefined;
  const withTime = (now: Date): readonly PromptMessage[] => {
    const content = last.content.slice(0, place) + timeLine(now) + last.content.slice(place + shown.length);
    return [...messages.slice(0, -1), { ...last, content }];
  };
  for (let earlierMs = 0; earlierMs <= MAX_BUILD_MS; earlierMs++) {
    const candidate = withTime(new Date(at.getTime() - earlierMs));
    if (hashRequest(asked.model, candidate) === asked.requestHash) return candidate;
  }
  return undefined;
}

/** As prompt/build.ts writes the time. */
const timeLine = (now: Date): string => now.toISOString();

function noteOn(asked: Asked, rows: readonly MemoryRow[]): string {
  const gone = shownIds(asked).length - rows.length;
  const missing = gone > 0 ? ` ${gone} of the memories in it are no longer in the store.` : "";
  return `A reconstruction, not the exact prompt: commands, words or settings have changed since it was sent.${missing}`;
}
