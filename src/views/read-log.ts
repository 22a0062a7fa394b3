/** read-log.ts -- reads an agent's log in pages. */

import type { RecordedEvent } from "#core/event.ts";
import type { StoreReader } from "#core/ports/store.ts";
import { bySeq, readPages } from "#util/read-pages.ts";

const PAGE = 500;

/** All events, oldest first. */
export async function* allEvents(reader: Pick<StoreReader, "read">, agent: string): AsyncGenerator<RecordedEvent> {
  const read = (after: number, limit: number) => reader.read(agent, after, limit);
  for await (const page of readPages(read, bySeq, { limit: PAGE })) yield* page;
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
