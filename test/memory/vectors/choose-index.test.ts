import { existsSync, mkdirSync, mkdtempSync } from "node:fs";
import { rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "@jest/globals";
import type { IndexedRows, IndexScope } from "#core/ports/vectors.ts";
import { chooseIndex, HnswIndex } from "#memory/vectors/hnsw-index.ts";
import { memoryFolder, removeIndexes, removeStrayIndexes } from "#memory/vectors/index-folders.ts";
import { clusteredVectors } from "../../helpers/random-vectors.ts";

const folder = mkdtempSync(join(tmpdir(), "goald-indexes-"));
afterAll(() => rm(folder, { recursive: true }));
const report = (problem: string) => expect(problem).toBe("");
const scope: IndexScope = { namespace: "foo", embedder: "hash-v2@8", dimensions: 8 };
const noRows: IndexedRows = {
  at: (slot) => ({ id: `foo/${slot}` }),
  read: async () => undefined,
  has: () => false,
};
const vectors = clusteredVectors(200, 8, 4);

describe("MEMORY_BACKEND", () => {
  it.each([
    ["exact", false],
    ["local", true],
    ["hnsw", true],
  ] as const)("%s: a graph may come to stand beside the rows: %s", async (backend, hasGraph) => {
    const index = chooseIndex(backend, report)(scope, noRows);
    expect(index.constructor === HnswIndex).toBe(hasGraph);
    await index.close();
  });

  it.each(["exact", "local"] as const)("%s finds a few rows", async (backend) => {
    const index = chooseIndex(backend, report)(scope, noRows);
    for (const [slot, vector] of vectors.entries()) await index.add(slot, vector);
    expect((await index.search(vectors[7] as Float32Array, 1))[0]?.slot).toBe(7);
    await index.close();
  });
});

describe("the folder of index files", () => {
  it("differs for each namespace and is inside the root, whatever their names", () => {
    const names = ["a", "A", "a/b", "a_b", "..", ".", "", "a\0b", "ä", "x".repeat(300)];
    const folders = names.map((namespace) => memoryFolder("/root", namespace));
    expect(new Set(folders).size).toBe(names.length);
    for (const path of folders) expect(path).toMatch(/^\/root\/[\w@-]{1,80}$/);
  });

  it("is deleted with its agent, and stray folders are deleted at the next start", async () => {
    const names = ["a", "shared", "gone", "a/b"];
    const make = (namespace: string) => mkdirSync(memoryFolder(folder, namespace), { recursive: true });
    const left = () => names.filter((namespace) => existsSync(memoryFolder(folder, namespace)));
    for (const name of names) make(name);
    await removeIndexes(folder, "a/b");
    expect(left()).toEqual(["a", "shared", "gone"]);
    await removeStrayIndexes(folder, ["a", "b", "shared"]);
    expect(left()).toEqual(["a", "shared"]);
    await removeStrayIndexes(join(folder, "nowhere"), []);
  });
});
