/** A person's `forget` leaves no copy of a text, its words or its vectors: in the store's files and the index files. test/cli/memory.long.ts has Pinecone. */
import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "@jest/globals";
import { memoryFolder, removeMemoryOf } from "#app/memory-folders.ts";
import type { Store } from "#core/ports/store.ts";
import { HostControl, type HostControlParts } from "#host/host-control.ts";
import { openLongTermMemory } from "#memory/recall/long-term-memory.ts";
import { IndexSnapshots } from "#memory/recall/snapshots.ts";
import { toUnit } from "#memory/vectors/unit-vector.ts";
import { openSqliteStore } from "#store/sqlite/open-store.ts";
import { openGroupStore } from "#store/sqlite/writer.ts";
import { AT, memoryOf, NOTHING, SPEC, said, stamped } from "../helpers/events.ts";
import { fakeClock } from "../helpers/fake-clock.ts";
import { useFolder } from "../helpers/folder.ts";
import { fixedEmbedder, LIVE, recallQuery } from "../helpers/memory-rows.ts";

const at = useFolder();

/** In a piece of the step that has the secret. */
const PIECE = "Turn left twice behind the oaks.";
const SECRET = `The code of the ${"very ".repeat(1_200)} gate is 7731`;
const PLAIN = "The bakery opens at eight.";
const embedder = fixedEmbedder({ dimensions: 2_000 });

const bytesOf = (vector: Float32Array): Buffer => Buffer.from(vector.slice().buffer);
/** The components of a vector that are not zero, as they are in a row of vectors. */
const vectorOf = (text: string) => bytesOf(toUnit(embedder.vectorOf(text), embedder.dimensions).subarray(0, 9));

const [STORE, INDEX] = ["goald.db*", "memory/**/*"];
const WORDS = "its words in a snapshot";
/** Each place of what is forgotten, with the files where it is. */
const PLACES: readonly (readonly [name: string, files: string, bytes: Buffer])[] = [
  ["the row", STORE, Buffer.from("gate is 7731")],
  ["its copy in other case", STORE, Buffer.from("GATE IS 7731")],
  ["its piece", STORE, Buffer.from(PIECE)],
  ["its vector", STORE, vectorOf(SECRET)],
  ["the vector of its piece", STORE, vectorOf(PIECE)],
  [WORDS, INDEX, Buffer.from("7731", "utf16le")],
];
const ALL = PLACES.map(([name]) => name);
/** Names the places of a home that still have it. */
const placesIn = (home: string): readonly string[] =>
  PLACES.filter(([, files, bytes]) =>
    globSync(files, { cwd: home, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .some((entry) => readFileSync(join(entry.parentPath, entry.name)).includes(bytes)),
  ).map(([name]) => name);

const FORGET = { op: "forget", id: "foo/2", by: "person", copies: true } as const;

async function makeHome(open: (path: string) => Promise<Store>) {
  const home = { privateFolder: at() };
  const store = await open(join(home.privateFolder, "goald.db"));
  await store.create(SPEC, "key", AT);
  const lease = await store.claim("foo");
  const texts = [SECRET, PLAIN, SECRET.toUpperCase(), "Soup of the day", SECRET];
  const events = stamped(2, ...texts.map(() => said("x")));
  const memories = texts.map((text, at) => memoryOf(at + 2, text));
  const piece = { ...memoryOf(2, PIECE), kind: "piece" } as const;
  await store.commit(lease, 1, { ...NOTHING, events, memories: [...memories, piece] });
  const openMemory = () =>
    openLongTermMemory({
      store,
      embedder,
      report: (problem) => expect(problem).toBe(""),
      snapshots: new IndexSnapshots({
        store,
        note: (text) => expect(text).toBe(""),
        isWriter: true,
        leastRows: 1,
        folderOf: (namespace) => memoryFolder(join(home.privateFolder, "memory"), namespace),
      }),
    });
  return { home, store, openMemory };
}
/** A change needs no other parts of a host. */
const changesOf =
  (store: Store, removeMemory: HostControlParts["removeMemory"]): HostControl["changeMemory"] =>
  (...given) => {
    const parts: Partial<HostControlParts> = { store, clock: fakeClock(), removeMemory };
    return new HostControl(parts as HostControlParts).changeMemory(...given);
  };
const recall = (memory: ReturnType<typeof openLongTermMemory>) => memory.recall(recallQuery(["gate"]), LIVE);

describe.each([
  ["the embedded store", (path: string) => openSqliteStore(path)],
  ["the store for many agents, in its thread", (path: string) => openGroupStore(path, { thread: "always" })],
])("with %s", (_name, open) => {
  it("leaves no copy in the store, its WAL or the index files, while the memory is loaded", async () => {
    const { home, store, openMemory } = await makeHome(open);
    const found = () => placesIn(home.privateFolder);
    const saved = openMemory();
    await recall(saved);
    await saved.close();
    const memory = openMemory();
    expect((await recall(memory))[0]?.text).toBe(SECRET);
    expect(found()).toEqual(ALL);

    const change = changesOf(store, (namespace) => removeMemoryOf(home, namespace, memory));
    expect(await change("foo", [FORGET], "k")).toMatchObject([{ copies: ["foo/2.1", "foo/4", "foo/6"] }]);
    expect(found()).toEqual([]);
    expect((await recall(memory)).map(({ text }) => text).sort()).toEqual(["Soup of the day", PLAIN]);
    await memory.close();
    await store.close();
    expect(found()).toEqual([]);
  });

  it("leaves no word in a snapshot that is written while the person forgets", async () => {
    const { home, store, openMemory } = await makeHome(open);
    const memory = openMemory();
    const forget = changesOf(store, (namespace) => removeMemoryOf(home, namespace, memory));
    const recalled = recall(memory);
    await forget("foo", [FORGET], "k");
    expect(placesIn(home.privateFolder)).not.toContain(WORDS);
    await recalled;
    await memory.close();
    expect(placesIn(home.privateFolder)).not.toContain(WORDS);
    await store.close();
  });
});
