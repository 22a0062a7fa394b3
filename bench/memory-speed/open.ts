/**
 * open.ts -- run by durable.ts in a process of its own: opens a memory from disk, finds ten rows, and prints the CPU in milliseconds.
 *
 *   node bench/memory-speed/open.ts goald|vectra <file or folder> <file of the query, a JSON array>
 */
import { readFileSync } from "node:fs";
import { LocalIndex } from "vectra";
import { ExactIndex } from "#memory/vectors/exact-index.ts";
import { openSqliteStore } from "#store/sqlite-store.ts";
import { byChange, readPages } from "#util/read-pages.ts";
import { cpuOf } from "./meter.ts";

const [system, path = "", queryPath = ""] = process.argv.slice(2);
const query = JSON.parse(readFileSync(queryPath, "utf8")) as number[];
console.log(await cpuOf(system === "goald" ? openGoald : openVectra));

async function openGoald(): Promise<void> {
  const store = await openSqliteStore(path);
  const index = new ExactIndex(query.length);
  const read = (after: number, limit: number) => store.memories("bench", after, limit);
  for await (const page of readPages(read, byChange, { limit: 256 }))
    for (const { change, vector } of page) if (vector) await index.add(change, vector);
  const found = await index.search(Float32Array.from(query), 10);
  if (found.length !== 10) throw new Error(`Expected ten, found ${found.length} of ${index.size}.`);
  await index.close();
  await store.close();
}

async function openVectra(): Promise<void> {
  await new LocalIndex(path).queryItems(query, "", 10);
}
