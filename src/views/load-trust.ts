/** load-trust.ts -- loads since when a person trusts all words that an agent had read. */
import type { StoreReader } from "#core/ports/store.ts";
import type { TrustGiven } from "./trusted-words.ts";

/** `seq`: the event of the trust; 0 for none. */
export async function loadTrustInAll(
  agent: string,
  seq: number,
  reader: Pick<StoreReader, "read">,
): Promise<readonly TrustGiven[]> {
  const [event] = seq === 0 ? [] : await reader.read(agent, seq - 1, 1);
  return event ? [{ path: null, at: event.at }] : [];
}
