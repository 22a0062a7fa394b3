/**
 * past.ts -- the part of an agent's log that stands above what is followed live.
 */
import type { StoreReader } from "#core/ports/store.ts";
import type { CliContext } from "./context.ts";
import { readStore } from "./reading.ts";
import type { Show } from "./result.ts";

const PAGE = 500;

/** The last step that was begun up to `head`. */
export async function showLastStep(agent: string, head: number, context: CliContext, show: Show): Promise<void> {
  await showFrom(agent, Number.POSITIVE_INFINITY, head, context, show);
}

/** Everything from that step on, up to `head`; from the last one when there are fewer. */
export const showFrom = (agent: string, step: number, head: number, context: CliContext, show: Show): Promise<void> =>
  readStore(context, async (reader) => {
    let after = await seqBefore(reader, agent, step, head);
    while (after < head) {
      const page = await reader.read(agent, after, Math.min(PAGE, head - after));
      for (const event of page) show(event);
      if (page.length === 0) return;
      after += page.length;
    }
  });

/** Number of the event before that step was begun, looked for from the end. */
async function seqBefore(
  reader: Pick<StoreReader, "read">,
  agent: string,
  step: number,
  head: number,
): Promise<number> {
  let wanted: number | undefined;
  let begin = head + 1;
  for (let end = head; end > 0; ) {
    const start = Math.max(0, end - PAGE);
    for (const event of (await reader.read(agent, start, end - start)).toReversed()) {
      if (event.type !== "model-asked") continue;
      wanted ??= Math.min(step, event.step);
      if (event.step < wanted) return begin - 1;
      // Of several attempts the first one.
      begin = event.seq;
    }
    end = start;
  }
  return 0;
}
