/** whole-step.ts -- one step as `goald show --step` prints it, loaded from a store. */
import { type GoaldError, isGoaldError } from "#core/errors.ts";
import type { OutputMode } from "#core/event.ts";
import { MEMORY_KINDS, shownIds, TRUSTS } from "#core/memory.ts";
import type { MemoryRow } from "#core/ports/memory.ts";
import type { PromptMessage } from "#core/ports/model.ts";
import type { AgentRow, StoreReader } from "#core/ports/store.ts";
import type { AgentState } from "#core/state.ts";
import { buildPrompt } from "#prompt/build.ts";
import { readShown } from "#prompt/recalls.ts";
import type { CommandOffer } from "#prompt/system.ts";
import { templatesOf, type Words } from "#prompt/words.ts";
import type { Thoughts } from "#reply/thoughts.ts";
import { count, described, flag, listOf, nullable, oneOf, open, type Static, text, time } from "#util/schema.ts";
import { neverTaken } from "./file-versions.ts";
import { findMemory } from "./memory-view.ts";
import { ThoughtsView } from "./parts.ts";
import { allEvents, findBefore, foldLog, openTexts, stateOf } from "./read-agent.ts";
import { hashRequest } from "./request-hash.ts";
import { type AskedEvent, findStep, type StepView, stepMembers } from "./step-view.ts";

export const RebuiltPrompt = open({
  messages: listOf(
    open(
      {
        role: oneOf("system", "user", "assistant", "tool"),
        content: text,
        calls: described(listOf(open({ id: text, name: text, args: text })), "Native tool calls. `args` is JSON."),
        callId: described(text, "The call that a message of the role `tool` answers."),
      },
      "calls",
      "callId",
    ),
  ),
  exact: described(flag, "True when its hash equals the hash of the request that was sent."),
  note: described(text, "Why it is not exact; empty when it is."),
});
export type RebuiltPrompt = Static<typeof RebuiltPrompt>;

interface RebuildParts {
  commandsFor(state: AgentState): CommandOffer;
  readonly words: Words;
  readonly contextTokens: number;
  readonly replyTokens: number;
}

/** Longest time from the time in a prompt to the time of its event: building and hashing. */
const MAX_BUILD_MS = 1_000;

/**
 * Rebuilds the prompt of a step from the log, and checks its hash against the request's. Pure. The log holds a prompt's
 * hash and which characters of which memories it showed, not its text. The same state, memories, words, commands and
 * context size give the same prompt except for the time in it, which is up to a second before the request's: each
 * millisecond is tried. When no hash matches, words, commands or settings have changed, and the result is a
 * reconstruction. `state`: before the request. `rows`: those that the request showed, in any order, without those that
 * were removed.
 */
export function rebuildPrompt(
  asked: AskedEvent,
  state: AgentState,
  rows: readonly MemoryRow[],
  parts: RebuildParts,
): RebuiltPrompt {
  try {
    const at = new Date(asked.at);
    const known = new Map(rows.map((row) => [row.id, asRecalled(row, asked.seq)]));
    const recalls = asked.recallIds.flatMap((id) => known.get(id) ?? []).map((row) => ({ ...row, score: 0 }));
    const shown = readShown(asked.recallIds, asked.shown ?? [], known);
    const situation = {
      ...parts.commandsFor(state),
      form: templatesOf(asked.mode),
      state,
      step: asked.step,
      folder: asked.folder,
    };
    const { messages } = buildPrompt({ ...parts, ...situation, shown, recalls, now: at });
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
  asked: AskedEvent,
  messages: readonly PromptMessage[],
  at: Date,
): readonly PromptMessage[] | undefined {
  const last = messages.at(-1);
  // As prompt/build.ts writes the time.
  const shown = at.toISOString();
  const place = last?.content.lastIndexOf(shown) ?? -1;
  if (!last || place < 0) return undefined;
  const withTime = (now: Date): readonly PromptMessage[] => {
    const content = last.content.slice(0, place) + now.toISOString() + last.content.slice(place + shown.length);
    return [...messages.slice(0, -1), { ...last, content }];
  };
  for (let earlierMs = 0; earlierMs <= MAX_BUILD_MS; earlierMs++) {
    const candidate = withTime(new Date(at.getTime() - earlierMs));
    if (hashRequest(asked.model, candidate) === asked.requestHash) return candidate;
  }
  return undefined;
}

function noteOn(asked: AskedEvent, rows: readonly MemoryRow[]): string {
  const gone = shownIds(asked).length - rows.length;
  const missing = gone > 0 ? ` Memories in it that are no longer in the store: ${gone}.` : "";
  return `A reconstruction, not the exact prompt: commands, words or settings have changed since it was sent.${missing}`;
}

const PromptRecall = open({
  id: text,
  step: nullable(count),
  at: time,
  kind: oneOf(...MEMORY_KINDS),
  trust: oneOf(...TRUSTS),
  text,
});

export const WholeStep = open({
  agent: text,
  name: text,
  ...stepMembers,
  prompt: RebuiltPrompt,
  recalls: described(
    listOf(PromptRecall),
    "The recalls, best first, then the other memories that the prompt shows with them.",
  ),
  thoughts: nullable(ThoughtsView),
});
export type WholeStep = Static<typeof WholeStep>;

/** What rebuilds prompts and reads replies: the commands, words and settings of the home. */
export interface StepParts {
  promptParts(model: string): Promise<RebuildParts>;
  /** Null for a reply without thoughts. */
  readThoughts(reply: string, finishReason: string, mode: OutputMode): Promise<Thoughts | null>;
}

type Reader = Pick<StoreReader, "read" | "files" | "memory" | "blob" | "load">;

/** Throws GOALD_NOT_FOUND for a step that the agent has not taken. */
export async function loadStep(row: AgentRow, step: number, reader: Reader, parts: StepParts): Promise<WholeStep> {
  const start = await findBefore(step, row, reader);
  const { state } = await foldLog(reader, row, start);
  const found = await findStep(allEvents(reader, row.id, start), step, state);
  if (!found) throw await noStep(row, step, reader);
  const { asked, before, end } = found;
  const files = (await reader.files(row.id, start, end)).filter((file) => file.step === step);
  const rows = await readRows(shownIds(asked), reader);
  const prompt = rebuildPrompt(asked, before, rows, await parts.promptParts(asked.model));
  const view = (await openTexts({ ...found.view, files }, reader)) as StepView;
  const { reply } = view;
  const read = (words: string, finishReason: string) => parts.readThoughts(words, finishReason, asked.mode);
  const thoughts = typeof reply?.text === "string" ? await read(reply.text, reply.finishReason) : null;
  const recalls = rows.map(({ id, step, at, kind, trust, text }) => ({ id, step, at, kind, trust, text }));
  return { agent: row.id, name: row.name, ...view, prompt, recalls, thoughts };
}

/** In the order of the ids, without forgotten rows. */
async function readRows(ids: readonly string[], reader: Reader): Promise<readonly MemoryRow[]> {
  const rows = await Promise.all(ids.map((id) => findMemory(reader, id)));
  return rows.flatMap((row) => (row?.forgotten === null ? [row] : []));
}

async function noStep({ id }: AgentRow, step: number, reader: Reader): Promise<GoaldError> {
  const { step: taken } = await stateOf(reader, { id });
  const hint = taken > 0 ? `See the last one: goald show ${id} --step ${taken}` : `Start it: goald resume ${id}`;
  return neverTaken(step, taken, id, hint);
}
