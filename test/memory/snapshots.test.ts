import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "@jest/globals";
import type { Embedder, MemoryVersion } from "#core/ports/memory.ts";
import { IndexSnapshots, SNAPSHOT_FILE } from "#memory/recall/snapshots.ts";
import { openWordEmbedder } from "#memory/vectors/offline-embedder.ts";
import { sha256 } from "../helpers/events.ts";
import { useFolder } from "../helpers/folder.ts";
import { fixedEmbedder, memoryRows, openHashEmbedder, openRecall } from "../helpers/memory-rows.ts";

const at = useFolder();

interface OpenOptions {
  readonly namespace?: string;
  readonly isWriter?: boolean;
  readonly leastRows?: number;
  readonly embedder?: Embedder;
  readonly memoryVersion?: () => Promise<MemoryVersion>;
}

let homes = 0;

/** A store with 40 rows of `foo`, and a function that opens its memory as a new process does. */
function makeHome() {
  const folder = at(`home-${++homes}`);
  mkdirSync(folder);
  const store = memoryRows();
  for (let row = 0; row < 40; row++)
    store.add("foo", `The ${row % 2 ? "baker" : "gardener"} of house ${row} sells soup`);
  const path = join(folder, "foo", SNAPSHOT_FILE);
  const notes: string[] = [];
  const sameVersion = async () => ({ seq: 1, curation: 0, sha: "same" });
  const open = ({ embedder = openHashEmbedder(), memoryVersion = sameVersion, ...options }: OpenOptions = {}) => {
    const snapshots = new IndexSnapshots({
      store: { memories: store.memories, memoryVersion },
      isWriter: true,
      leastRows: 8,
      folderOf: () => join(folder, "foo"),
      note: (text) => notes.push(text),
      ...options,
    });
    return openRecall({ store, embedder, snapshots, report: (problem) => expect(problem).toBe("") });
  };
  /** Recalls in a process of its own, and returns the recalls and how many rows it read. */
  async function recallOnce(options: OpenOptions = {}) {
    const { memory, recall } = open(options);
    const before = store.counts.read;
    const recalls = await recall(["house 7"], { agent: options.namespace ?? "foo", count: 5 });
    const read = store.counts.read - before;
    await memory.close();
    return { recalls, read };
  }
  return { folder, store, path, notes, open, recallOnce };
}

describe("a start", () => {
  it("reads only the rows that came since the snapshot, and recalls the same", async () => {
    const { store, recallOnce } = makeHome();
    const { recalls, read } = await recallOnce();
    expect(read).toBe(40);
    expect(await recallOnce()).toEqual({ recalls, read: 0 });
    const { id } = store.add("foo", "House 7 is sold");
    const again = await recallOnce();
    expect(again.read).toBe(1);
    expect(again.recalls.map((row) => row.id)).toContain(id);
  });

  it("reads all rows of a memory that is too small for a snapshot (negative control)", async () => {
    const { recallOnce, path } = makeHome();
    for (let start = 0; start < 2; start++) expect((await recallOnce({ leastRows: 41 })).read).toBe(40);
    expect(existsSync(path)).toBe(false);
  });

  it("keeps vectors that were bought, and embeds no row again", async () => {
    const { recallOnce } = makeHome();
    const embedder = fixedEmbedder();
    const { recalls } = await recallOnce({ embedder });
    const embedded = embedder.requests.flat().length;
    expect((await recallOnce({ embedder })).recalls).toEqual(recalls);
    expect(embedder.requests.flat()).toHaveLength(embedded + 1);
  });

  it("keeps the vectors of an instant embedder, which the store does not have", async () => {
    const { recallOnce } = makeHome();
    const words = openWordEmbedder();
    const embedded: string[] = [];
    const embed: Embedder["embed"] = (texts, signal) => {
      embedded.push(...texts);
      return words.embed(texts, signal);
    };
    const embedder: Embedder = { ...words, embed };
    const { recalls } = await recallOnce({ embedder });
    const texts = embedded.splice(0);
    expect(texts.length).toBeGreaterThan(8);
    expect(await recallOnce({ embedder })).toEqual({ recalls, read: 0 });
    expect(embedded).toHaveLength(1);
    await recallOnce({ embedder: { ...embedder, id: "words-v0@192" } });
    expect(embedded.slice(1)).toHaveLength(texts.length);
  });

  it("recalls by meaning as a process does that went on", async () => {
    const embedder = openWordEmbedder();
    const recallAll = async (restarts: boolean) => {
      const { store, open } = makeHome();
      const seen: unknown[] = [];
      let { memory, recall } = open({ embedder });
      for (const text of ["Who plants roses?", "Where is bread sold?", "roses and bread"]) {
        seen.push(await recall([text], { count: 8 }));
        store.add("foo", `Note: ${text.toLowerCase()}`);
        if (!restarts) continue;
        await memory.close();
        ({ memory, recall } = open({ embedder }));
      }
      await memory.close();
      return seen;
    };
    expect(await recallAll(true)).toEqual(await recallAll(false));
  });
});

describe("a snapshot", () => {
  it("is private to its owner, and no other file stays", async () => {
    const { recallOnce, path, folder } = makeHome();
    await recallOnce();
    expect(statSync(path).mode & 0o777).toBe(0o600);
    expect(statSync(join(folder, "foo")).mode & 0o777).toBe(0o700);
    expect(readdirSync(join(folder, "foo"))).toEqual([SNAPSHOT_FILE]);
  });

  it("is written again when much has changed, and replaces what a killed process left", async () => {
    const { recallOnce, store, path } = makeHome();
    await recallOnce();
    const first = readFileSync(path);
    store.add("foo", "One more house");
    await recallOnce();
    expect(readFileSync(path).equals(first)).toBe(true);
    writeFileSync(`${path}.77.1.tmp`, "half");
    for (let row = 0; row < 5; row++) store.add("foo", `House ${row} is green`);
    await recallOnce();
    expect(readFileSync(path).equals(first)).toBe(false);
    expect(existsSync(`${path}.77.1.tmp`)).toBe(false);
    expect((await recallOnce()).read).toBe(0);
  });

  it.each<[what: string, damage: (path: string, bytes: Buffer) => void]>([
    ["is empty", (path) => writeFileSync(path, "")],
    ["ends early", (path, bytes) => writeFileSync(path, bytes.subarray(0, bytes.length - 1))],
    ["lacks its beginning", (path, bytes) => writeFileSync(path, bytes.subarray(1))],
    ["has one other bit in its columns", (path, bytes) => writeFileSync(path, flipped(bytes, 100))],
    ["has one other bit in its manifest", (path, bytes) => writeFileSync(path, flipped(bytes, bytes.length - 200))],
    ["has one other bit at its end", (path, bytes) => writeFileSync(path, flipped(bytes, bytes.length - 1))],
    ["is a folder", (path) => execFileSync("sh", ["-c", 'rm "$0"; mkdir "$0"', path])],
    ["is a pipe", (path) => execFileSync("sh", ["-c", 'rm "$0"; mkfifo "$0"', path])],
  ])("that %s is not used, and the log says so once", async (_what, damage) => {
    const { recallOnce, path, notes } = makeHome();
    const sound = await recallOnce();
    damage(path, readFileSync(path));
    expect(await recallOnce()).toEqual(sound);
    expect(notes).toContainEqual(expect.stringContaining("is not used"));
  });

  it("of another state of the store or of another namespace is not used", async () => {
    const { recallOnce, notes } = makeHome();
    const sound = await recallOnce();
    expect(await recallOnce({ namespace: "bar" })).toEqual({ recalls: [], read: 0 });
    const memoryVersion = async () => ({ seq: 1, curation: 0, sha: "other" });
    expect(await recallOnce({ memoryVersion })).toEqual(sound);
    const reasons = ["another version of goald", "another state of the store"];
    expect(notes).toEqual(reasons.map((reason) => expect.stringContaining(reason)));
  });

  it("is only read by a process that does not own the store", async () => {
    const { recallOnce, path, store } = makeHome();
    await recallOnce({ isWriter: false });
    expect(existsSync(path)).toBe(false);
    await recallOnce();
    const before = readFileSync(path);
    for (let row = 0; row < 30; row++) store.add("foo", `House ${row} is green`);
    expect((await recallOnce({ isWriter: false })).read).toBe(30);
    expect(readFileSync(path).equals(before)).toBe(true);
  });

  it("is deleted when a quarter of its rows is gone, so that the next start leaves them out", async () => {
    const { recallOnce, path, store } = makeHome();
    await recallOnce();
    for (let row = 1; row <= 15; row++) store.add("foo", `House ${row} is sold`, { supersedes: `foo/${row}` });
    for (const row of store.rows.get("foo")?.slice(0, 15) ?? []) store.supersede("foo", row.id);
    await recallOnce();
    expect(existsSync(path)).toBe(false);
    await recallOnce();
    expect((await recallOnce()).read).toBe(0);
  });

  it("has the content that its format number stands for", async () => {
    // Increase FORMAT in snapshots.ts with each change of this digest.
    const { recallOnce, store, path } = makeHome();
    const step = "Thought: Decide?\nCommand: read_file notes.md\nDone: Added 23 bytes to notes.md";
    store.add("foo", step, { source: "a" });
    const piece = "notes.md, lines 1 to 9 of 9:\nStraßen und Ünïcode 日本語 readFile 7,731";
    store.add("foo", piece, { kind: "piece", source: "notes.md" });
    const fact = { kind: "fact", importance: 0.8, factKey: "depot hour", trust: "person" } as const;
    for (const hour of [6, 7, 7]) store.add("foo", `depot: hour: ${hour}`, fact);
    store.supersede("foo", store.add("foo", "The depot is closed", { trust: "person", supersedes: "foo/3" }).id);
    await recallOnce();
    const bytes = readFileSync(path);
    const length = bytes.readUInt32LE(bytes.length - 36);
    const { identity, sha256: columns, values } = JSON.parse(bytes.subarray(-36 - length, -36).toString());
    const digest = "0879ee477d4f3ea87a6b2f87f43da02faf2eaaff306cd8890e24a3f39fe36c30";
    expect([identity.format, sha256(columns + JSON.stringify(values))]).toEqual([3, digest]);
  });
});

describe("words that a person has forgotten", () => {
  const hasWord = (path: string, word: string): boolean =>
    existsSync(path) && readFileSync(path).includes(Buffer.from(word, "utf16le"));

  it("leave the snapshot with the next recall, when the process that erased them did not delete it", async () => {
    const { recallOnce, store, path } = makeHome();
    const { id } = store.add("foo", "The code of the gate is xyzzq");
    await recallOnce();
    expect(hasWord(path, "xyzzq")).toBe(true);
    store.forget("foo", id);
    const reader = await recallOnce({ isWriter: false });
    expect(reader.read).toBe(42);
    expect(hasWord(path, "xyzzq")).toBe(true);
    const { recalls, read } = await recallOnce();
    expect(recalls).toEqual(reader.recalls);
    expect(read).toBe(42);
    expect(recalls.map((row) => row.id)).not.toContain(id);
    expect(existsSync(path)).toBe(true);
    expect(hasWord(path, "xyzzq")).toBe(false);
  });

  it("do not come back with a snapshot that is written at that moment", async () => {
    const { recallOnce, store, path } = makeHome();
    const { id } = store.add("foo", "The code of the gate is xyzzq");
    let isForgotten = false;
    const memoryVersion = async () => {
      if (!isForgotten) store.forget("foo", id);
      isForgotten = true;
      return { seq: 1, curation: 0, sha: "same" };
    };
    await recallOnce({ memoryVersion });
    expect(isForgotten).toBe(true);
    expect(existsSync(path)).toBe(false);
  });
});

function flipped(bytes: Buffer, at: number): Buffer {
  bytes[at] = (bytes[at] as number) ^ 4;
  return bytes;
}
