import { flushCompileCache } from "node:module";
import { createHttp } from "#http/http.ts";
import { openLongTermMemory } from "#memory/recall/long-term-memory.ts";
import { PineconeMemory } from "#memory/remote/pinecone.ts";
import { PineconeClient } from "#memory/remote/pinecone-client.ts";
import { ExactIndex } from "#memory/vectors/exact-index.ts";
import { openSqliteStore } from "#store/sqlite/open-store.ts";
import { systemClock } from "#util/clock.ts";
import { AT, memoryOf, NOTHING, SPEC, said, stamped } from "../helpers/events.ts";
import { openHashEmbedder } from "../helpers/memory-rows.ts";
import { PINECONE_KEY } from "../helpers/pinecone-server.ts";

/**
 * killed-memory.child.ts -- a process that remembers and forgets until it is killed.
 *
 * `outbox FILE URL` commits rows, forgets every fifth and recalls, which sends to Pinecone. `finish FILE URL` sends the rest.
 * It prints a line for each durable change, and one before it forgets a row.
 */

const [mode = "", path = "", controller = ""] = process.argv.slice(2);
const live = new AbortController().signal;
// A killed process leaves no compile cache.
flushCompileCache();
const store = await openSqliteStore(path);
const report = (problem: string): void => console.log(`said ${problem}`);
const query = (text: string) => ({ agent: "foo", texts: [text], count: 3, excludeSteps: new Set<number>() });
await store.create(SPEC, "key-1", AT);
const client = new PineconeClient({ apiKey: PINECONE_KEY, index: "mem", controller }, createHttp(), 5_000);
const pinecone = new PineconeMemory({ client, store, place: "mem", clock: systemClock, report, sendAfterMs: 3 });
const memory = openLongTermMemory({
  store,
  embedder: { ...openHashEmbedder(64), semantic: true, local: false, isInstant: false },
  report,
  openIndex: (scope, rows) => pinecone.open({ ...scope, rows, local: new ExactIndex(scope.dimensions) }),
});
if (mode === "finish") {
  await memory.recall(query("everything"), live);
  await pinecone.flush(20_000);
  console.log("finished");
} else await rememberForEver();
await store.close();

async function rememberForEver(): Promise<never> {
  const lease = await store.claim("foo");
  for (;;) {
    const { head } = await store.load("foo", 1);
    const row = { ...memoryOf(head + 1), text: `fact ${head + 1} about thing number ${(head * 7919) % 1_000}` };
    await store.commit(lease, head, { ...NOTHING, events: stamped(head + 1, said("x")), memories: [row] });
    console.log(`kept foo/${head + 1}`);
    if (head % 5 === 4) {
      console.log(`going foo/${head}`);
      await store.curate("foo", [{ op: "forget", id: `foo/${head}`, by: "person" }], `forget ${head}`, AT);
      console.log(`gone foo/${head}`);
    }
    await memory.recall(query(row.text), live);
  }
}
