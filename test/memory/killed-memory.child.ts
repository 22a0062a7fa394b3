import { spawn } from "node:child_process";
import { flushCompileCache } from "node:module";
import { setTimeout as sleep } from "node:timers/promises";
import { isLive } from "#core/memory.ts";
import type { Embedder } from "#core/ports/memory.ts";
import type { Store } from "#core/ports/store.ts";
import { createHttp } from "#http/http.ts";
import { type LongTermMemoryParts, openLongTermMemory } from "#memory/recall/long-term-memory.ts";
import { BackgroundLots } from "#memory/recall/row-embedder.ts";
import { PineconeMemory } from "#memory/remote/pinecone.ts";
import { PineconeClient } from "#memory/remote/pinecone-client.ts";
import { ExactIndex } from "#memory/vectors/exact-index.ts";
import { openSqliteStore } from "#store/sqlite/open-store.ts";
import { systemClock } from "#util/clock.ts";
import { AT, memoryOf, NOTHING, SPEC, said, stamped } from "../helpers/events.ts";
import { namedEmbedder } from "../helpers/memory-rows.ts";
import { PINECONE_KEY } from "../helpers/pinecone-server.ts";

/**
 * killed-memory.child.ts -- a process that remembers, forgets and embeds until it is killed.
 *
 * `outbox FILE URL` commits rows, forgets every fifth and recalls, which sends to Pinecone. `finish FILE URL` sends the rest.
 * `change FILE NAME [WHERE TIME]` uses the embedder NAME and recalls until it made every vector, or until it dies
 * `before`, `during` or `after` the TIMEth saving of vectors. It prints a line for each durable
 * change, and one before it forgets a row.
 */

const [mode = "", path = "", target = ""] = process.argv.slice(2);
const live = new AbortController().signal;
// A killed process leaves no compile cache.
flushCompileCache();
const store = await openSqliteStore(path);
const report = (problem: string): void => console.log(`said ${problem}`);
const query = (text: string) => ({ agent: "foo", texts: [text], count: 3, excludeSteps: new Set<number>() });

if (mode === "change") await change(store, process.argv.slice(5), namedEmbedder(target));
else await remember(store, mode === "finish");
await store.close();

async function remember(store: Store, isLast: boolean): Promise<void> {
  await store.create(SPEC, "key-1", AT);
  const embedder = namedEmbedder("one");
  const settings = { apiKey: PINECONE_KEY, index: "mem", controller: target };
  const client = new PineconeClient(settings, createHttp(), 5_000);
  const pinecone = new PineconeMemory({ client, store, place: "mem", clock: systemClock, report, sendAfterMs: 3 });
  const memory = openLongTermMemory({
    store,
    embedder,
    report,
    openIndex: (scope, rows) => pinecone.open({ ...scope, rows, local: new ExactIndex(scope.dimensions) }),
  });
  if (isLast) {
    await memory.recall(query("everything"), live);
    await pinecone.flush(20_000);
    console.log("finished");
    return;
  }
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

/** Saves vectors, and kills the process at the requested moment. */
function dying(store: Store, [where, time = "1"]: readonly string[]): Store["saveVectors"] {
  let times = 0;
  return async (...all) => {
    if (where === undefined || ++times !== Number(time)) return await store.saveVectors(...all);
    if (where === "before") await die();
    // The signal comes at once, while the work is under way or just done.
    if (where === "during") spawn("kill", ["-KILL", String(process.pid)], { stdio: "ignore" });
    await store.saveVectors(...all);
    await (where === "during" ? sleep(60_000) : die());
  };
}

async function die(): Promise<never> {
  process.kill(process.pid, "SIGKILL");
  await sleep(60_000);
  throw new Error("This process should be dead.");
}

async function change(store: Store, moment: readonly string[], embedder: Embedder): Promise<void> {
  const rows: LongTermMemoryParts["store"] = {
    memories: (...all) => store.memories(...all),
    memory: (...all) => store.memory(...all),
    saveVectors: dying(store, moment),
  };
  const memory = openLongTermMemory({ store: rows, embedder, report, lots: new BackgroundLots(1) });
  const isMade = async () =>
    (await store.memories("foo", 0, 100_000)).filter(isLive).every((row) => row.embedder === embedder.id);
  console.log("kept nothing");
  while (!(await isMade())) {
    const found = await memory.recall(query("fact 30 about thing"), live);
    if (found.length === 0) console.log("said nothing was found");
    await sleep(5);
  }
  await memory.close();
  console.log("finished");
}
