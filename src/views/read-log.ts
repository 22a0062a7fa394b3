/** read-log.ts -- reads an agent's log in pages. */
import type { RecordedEvent } from "#core/event.ts";
import type { StoreReader } from "#core/ports/store.ts";

const PAGE = 500;

/** All events, oldest first. */
export async function* allEvents(reader: Pick<StoreReader, "read">, agent: string): AsyncGenerator<RecordedEvent> {
  for (let after = 0; ; ) {
    const page = await reader.read(agent, after, PAGE);
    yield* page;
    if (page.length < PAGE) return;
    after += page.length;
  }
}

/** All events up to `head`, newest first. */
export async function* eventsBackward(
  reader: Pick<StoreReader, "read">,
  agent: string,
  head: number,
): AsyncGenerator<RecordedEvent> {
  for (let end = head; end > 0; ) {
    const start = Math.max(0, end - PAGE);
    yield* (await reader.read(agent, start, end - start)).toReversed();
    end = start;
  }
}
