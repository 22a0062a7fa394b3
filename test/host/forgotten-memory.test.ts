/** A person's `forget` leaves no copy of a text or its vectors: in the store's files, the index files and Pinecone. */
import { globSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, describe, expect, it } from "@jest/globals";
import { removeMemoryOf } from "#app/memory-folders.ts";
import type { Store } from "#core/ports/store.ts";
import { changesOf } from "#host/change-memory.ts";
import { openLongTermMemory } from "#memory/recall/long-term-memory.ts";
import { chooseIndex } from "#memory/vectors/choose-index.ts";
import { toUnit } from "#memory/vectors/unit-vector.ts";
import { openGroupStore } from "#store/group-store.ts";
import { openSqliteStore } from "#store/sqlite-store.ts";
import { memoryOf, NOTHING, SPEC, said, stamped } from "../contracts/store-builders.ts";
import { AT } from "../helpers/events.ts";
import { fakeClock } from "../helpers/fake-clock.ts";
import { fixedEmbedder } from "../helpers/fixed-embedder.ts";
import { waitUntil } from "../helpers/wait-until.ts";

const folder = mkdtempSync(join(tmpdir(), "goald-forgotten-"));
afterAll(() => rmSync(folder, { recursive: true }));

const SECRET = `The code of the ${"very ".repeat(1_200)} gate is 7731`;
const PLAIN = "The bakery opens at eight.";
const embedder = fixedEmbedder({ dimensions: 2_000 });
/** A vector of another embedder, which no other row has. */
const NEXT = Float32Array.from({ length: 300 }, (_, at) => Math.sin(at + 0.25));

/** Names the files below a folder that hold these bytes. */
const filesWith = (home: string, bytes: Buffer): readonly string[] =>
  globSync("**/*", { cwd: home, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .filter((entry) => readFileSync(join(entry.parentPath, entry.name)).includes(bytes))
    .map(({ name }) => name);
const bytesOf = (vector: Float32Array): Buffer => Buffer.from(vector.slice().buffer);
/** The components of a vector that are not zero, as they are in a row of vectors. */
const secretVector = toUnit(embedder.vectorOf(SECRET), embedder.dimensions).subarray(0, 9);

async function makeHome(name: string, open: (path: string) => Promise<Store>) {
  const home = { privateFolder: join(folder, name) };
  const store = await open(join(home.privateFolder, "goald.db"));
  await store.create(SPEC, "key", AT);
  const lease = await store.claim("foo");
  const texts = [SECRET, PLAIN, SECRET.toUpperCase(), "Soup of the day", SECRET];
  const events = stamped(2, ...texts.map(() => said("x")));
  await store.commit(lease, 1, { ...NOTHING, events, memories: texts.map((text, at) => memoryOf(at + 2, text)) });
  const openMemory = () =>
    openLongTermMemory({
      ...{ store, embedder, report: (problem) => expect(problem).toBe("") },
      openIndex: chooseIndex("hnsw", { folder: join(home.privateFolder, "memory"), report: () => undefined }),
    });
  return { home, store, openMemory };
}
const recall = (memory: ReturnType<typeof openLongTermMemory>) =>
  memory.recall({ agent: "foo", texts: ["gate"], count: 10, excludeSteps: new Set() }, new AbortController().signal);

describe.each([
  ["the embedded store", (path: string) => openSqliteStore(path)],
  ["the store for many agents, in its thread", (path: string) => openGroupStore(path, { thread: "always" })],
])("with %s", (name, open) => {
  it("leaves no copy in the store, its WAL or the index files, while the memory is loaded", async () => {
    const { home, store, openMemory } = await makeHome(name, open);
    const graphs = () => filesWith(join(home.privateFolder, "memory"), bytesOf(secretVector));
    // The graph is made in the background.
    let pauseMs = 100;
    await waitUntil("the graph is saved", async () => {
      const saved = openMemory();
      await recall(saved);
      await sleep(pauseMs);
      pauseMs *= 2;
      await saved.close();
      return graphs().length > 0;
    });
    const memory = openMemory();
    expect((await recall(memory))[0]?.text).toBe(SECRET);
    await store.saveNextVectors("foo", "next@300", [{ id: "foo/4", vector: NEXT }]);
    const sought = [Buffer.from("gate is 7731"), Buffer.from("GATE IS 7731"), bytesOf(secretVector), bytesOf(NEXT)];
    const placesOf = () => sought.map((bytes) => new Set(filesWith(home.privateFolder, bytes)).size > 0);
    expect(placesOf()).toEqual([true, true, true, true]);

    const forget = { op: "forget", id: "foo/2", by: "person" } as const;
    const change = changesOf(store, fakeClock(), (namespace) => removeMemoryOf(home, namespace, memory));
    expect(await change("foo", [{ ...forget, copies: true }], "k")).toMatchObject([{ copies: ["foo/4", "foo/6"] }]);
    expect(placesOf()).toEqual([false, false, false, false]);
    expect((await recall(memory)).map(({ text }) => text).sort()).toEqual(["Soup of the day", PLAIN]);
    await memory.close();
    await store.close();
    expect(placesOf()).toEqual([false, false, false, false]);
  });
});
