/** past.ts -- shows the part of an agent's log before the live events. */
import type { Reading } from "#api/control.ts";
import type { CliContext } from "./context.ts";
import { withReading } from "./reading.ts";
import type { Show } from "./result.ts";

const PAGE = 500;

/** Shows the last step that started up to `head`. */
export async function showLastStep(agent: string, head: number, context: CliContext, show: Show): Promise<void> {
  await showFrom(agent, Number.POSITIVE_INFINITY, head, context, show);
}

/** Shows all events from that step on, up to `head`. A later step than the last means the last one. */
export const showFrom = (agent: string, step: number, head: number, context: CliContext, show: Show): Promise<void> =>
  withReading(context, async (reading) => {
    let after = await seqBefore(reading, agent, step, head);
    while (after < head) {
      const { events } = await reading.page(agent, after, Math.min(PAGE, head - after));
      for (const event of events) show(event);
      if (events.length === 0) return;
      after += events.length;
    }
  });

/** Returns the number of the event before the step started. Searches backward. */
async function seqBefore(reading: Pick<Reading, "page">, agent: string, step: number, head: number): Promise<number> {
  let wanted: number | undefined;
  let begin = head + 1;
  for (let end = head; end > 0; ) {
    const start = Math.max(0, end - PAGE);
    const { events } = await reading.page(agent, start, end - start);
    for (const event of events.toReversed()) {
      if (event.type !== "model-asked") continue;
      wanted ??= Math.min(step, event.step);
      if (event.step < wanted) return begin - 1;
      // Continues to the first of several attempts.
      begin = event.seq;
    }
    end = start;
  }
  return 0;
}
