/**
 * rebuild-prompt.ts -- the prompt of a step, built again from the log, and whether it is the very one that was sent. Pure.
 *
 * A log holds a prompt's hash and the recalls in it, not its text. The same state, recalls, words, commands and room give
 * the same prompt but for the time in it, which is a few milliseconds before the request's own: those are tried until
 * the hash is met. When none fits, the words, commands or settings have changed since, and what is shown is a reconstruction.
 */
import { isGoaldError } from "#core/errors.ts";
import type { EventOf, RecordedEvent } from "#core/event.ts";
import type { MemoryRow } from "#core/ports/memory-row.ts";
import type { PromptMessage } from "#core/ports/model.ts";
import type { AgentState } from "#core/state.ts";
import { buildPrompt } from "#prompt/build.ts";
import type { Words } from "#prompt/template.ts";
import { hashRequest } from "./request-hash.ts";

export interface RebuiltPrompt {
  readonly messages: readonly PromptMessage[];
  /** Its hash is that of the request: it is what was sent, to the letter. */
  readonly exact: boolean;
  /** What a reader must know; empty when it is exact. */
  readonly note: string;
}

export interface RebuildParts {
  /** The commands as the prompt lists them. */
  readonly commandList: string;
  readonly words: Words;
  readonly contextTokens: number;
  readonly replyTokens: number;
}

type Asked = EventOf<"model-asked"> & Pick<RecordedEvent, "at">;

/** How long it may take from the time in a prompt to the time of its event: to build it and to hash it. */
const MAX_BUILD_MS = 1_000;

/** `state`: as it was before the request. `recalls`: in the order of the request; those that are gone are missing. */
export function rebuildPrompt(
  asked: Asked,
  state: AgentState,
  recalls: readonly MemoryRow[],
  parts: RebuildParts,
): RebuiltPrompt {
  try {
    const at = new Date(asked.at);
    const rows = recalls.map((recall) => ({ ...recall, score: 0 }));
    const { messages } = buildPrompt({ ...parts, state, recalls: rows, now: at });
    const sent = sentMessages(asked, messages, at);
    return sent ? { messages: sent, exact: true, note: "" } : { messages, exact: false, note: noteOn(asked, recalls) };
  } catch (error) {
    if (!isGoaldError(error, "GOALD_PROMPT_TOO_LONG")) throw error;
    return { messages: [], exact: false, note: `It cannot be built any more. ${error.message}` };
  }
}

/** The messages with the time at which they were really built; undefined when no such time gives the request's hash. */
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

/** As prompt/build.ts writes it; another length or day only makes it a reconstruction. */
const timeLine = (now: Date): string => now.toISOString();

function noteOn({ recallIds }: Asked, recalls: readonly MemoryRow[]): string {
  const gone = recallIds.length - recalls.length;
  const missing = gone > 0 ? ` ${gone} of its recalls are not in the store any more.` : "";
  return `A reconstruction, not the very prompt: commands, words or settings have changed since it was sent.${missing}`;
}
