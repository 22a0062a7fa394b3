/** whole-step.ts -- one step as `goald show --step` prints it, loaded from a store. */
import { GoaldError } from "#core/errors.ts";
import type { OutputMode } from "#core/event.ts";
import { shownIds } from "#core/memory.ts";
import type { MemoryRow } from "#core/ports/memory.ts";
import type { AgentRow, StoreReader } from "#core/ports/store.ts";
import type { Thoughts } from "#reply/read.ts";
import { count, described, listOf, nullable, oneOf, open, type Static, text, time } from "#util/schema.ts";
import { stateOf } from "./load-agent.ts";
import { findMemory } from "./load-memory.ts";
import { openTexts } from "./long-text.ts";
import { MEMORY_KINDS, TRUSTS } from "./memory-view.ts";
import { ThoughtsView } from "./parts.ts";
import { allEvents } from "./read-log.ts";
import { type RebuildParts, RebuiltPrompt, rebuildPrompt } from "./rebuild-prompt.ts";
import { type StepView, stepMembers } from "./step-schema.ts";
import { findStep } from "./step-view.ts";

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
  const found = await findStep(allEvents(reader, row.id), step, await reader.files(row.id));
  if (!found) throw await noStep(row, step, reader);
  const { asked, before } = found;
  const rows = await readRows(shownIds(asked), reader);
  const prompt = rebuildPrompt(asked, before, rows, await parts.promptParts(asked.model));
  const view = (await openTexts(found.view, reader)) as StepView;
  const { reply } = view;
  const read = (words: string, finishReason: string) => parts.readThoughts(words, finishReason, asked.mode);
  const thoughts = typeof reply?.text === "string" ? await read(reply.text, reply.finishReason) : null;
  const recalls = rows.map(({ id, step, at, kind, trust, text }) => ({ id, step, at, kind, trust, text }));
  return { agent: row.id, name: row.name, ...view, prompt, recalls, thoughts };
}

/** In the order of the ids, without forgotten rows. */
async function readRows(ids: readonly string[], reader: Reader): Promise<readonly MemoryRow[]> {
  const found: MemoryRow[] = [];
  for (const id of ids) {
    const row = await findMemory(reader, id);
    if (row && row.forgotten === null) found.push(row);
  }
  return found;
}

async function noStep(row: AgentRow, step: number, reader: Reader): Promise<GoaldError> {
  const { step: taken } = await stateOf(reader, row);
  const steps = `${taken} ${taken === 1 ? "step" : "steps"}`;
  const hint =
    taken > 0 ? `See the last one: goald show ${row.id} --step ${taken}` : `Start it: goald resume ${row.id}`;
  return new GoaldError("GOALD_NOT_FOUND", `Expected a step of ${row.id}, got ${step}: it has taken ${steps}.`, {
    hint,
  });
}
