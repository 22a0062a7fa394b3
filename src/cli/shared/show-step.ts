/**
 * show-step.ts -- `goald show --step N`: prompt, recalls, raw reply, the command as it was checked, result and files of one step.
 */

import { loadCatalogue, roomOf, serviceStates } from "#app/catalogue.ts";
import { EXIT, GoaldError } from "#core/errors.ts";
import type { AgentRow } from "#core/ports/agent.ts";
import type { MemoryRow } from "#core/ports/memory-row.ts";
import type { StoreReader } from "#core/ports/store.ts";
import { clean } from "#util/clean.ts";
import { findMemory } from "#views/find-memory.ts";
import { findAgent, stateOf } from "#views/load-agent.ts";
import { describeStep, type WholeStep } from "#views/step-text.ts";
import { type FoundStep, findStep, openTexts, type StepView } from "#views/step-view.ts";
import { type CliContext, counted, type GlobalOptions } from "./context.ts";
import { allEvents, reading } from "./reading.ts";

export async function showStep(name: string, step: number, options: GlobalOptions): Promise<number> {
  return reading(options, async (reader, context) => {
    const row = await findAgent(reader, name);
    const found = await findStep(allEvents(reader, row.id), step, await reader.files(row.id));
    if (!found) throw await noStep(row, step, reader);
    const whole = await wholeStep(found, row, reader, context);
    if (context.output.json) context.output.data(context.redact(JSON.stringify(whole)));
    else context.output.data(context.redact(clean(describeStep(whole))));
    return EXIT.ok;
  });
}

async function wholeStep(
  found: FoundStep,
  row: AgentRow,
  reader: StoreReader,
  context: CliContext,
): Promise<WholeStep> {
  const { rebuildPrompt } = await import("#views/rebuild-prompt.ts");
  const catalogue = await loadCatalogue(context.home, serviceStates(context.settings));
  const recalls = await recallsOf(found.asked.recallIds, reader);
  const prompt = rebuildPrompt(found.asked, found.before, recalls, {
    ...catalogue,
    ...roomOf(found.asked.model, context.settings, catalogue.windows),
  });
  const view = (await openTexts(found.view, reader)) as StepView;
  const { reply } = view;
  const thoughts =
    typeof reply?.text === "string" ? catalogue.readReply(reply.text, reply.finishReason).thoughts : null;
  const shown = recalls.map(({ id, step, at, kind, trust, text }) => ({ id, step, at, kind, trust, text }));
  return { agent: row.id, name: row.name, ...view, prompt, recalls: shown, thoughts };
}

/** In the order in which they stood in the prompt. */
async function recallsOf(ids: readonly string[], reader: StoreReader): Promise<readonly MemoryRow[]> {
  const found: (MemoryRow | undefined)[] = [];
  for (const id of ids) found.push(await findMemory(reader, id));
  return found.filter((memory) => memory !== undefined && memory.forgotten === null) as MemoryRow[];
}

async function noStep(row: AgentRow, step: number, reader: StoreReader): Promise<GoaldError> {
  const taken = (await stateOf(reader, row)).step;
  return new GoaldError(
    "GOALD_NOT_FOUND",
    `Expected a step of ${row.id}, got ${step}: it has taken ${counted(taken, "step")}.`,
    {
      hint:
        taken > 0 ? `See the last one: goald show ${row.id} --step ${taken}` : `Set it going: goald resume ${row.id}`,
    },
  );
}
