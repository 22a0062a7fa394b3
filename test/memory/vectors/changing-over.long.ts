/** An index changes from a scan to a graph while searches go on, as the backend `local` does. */
import { existsSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, expect, it } from "@jest/globals";
import { openGraphIndexes } from "#memory/vectors/choose-index.ts";
import { ExactIndex } from "#memory/vectors/exact-index.ts";
import { indexFolder } from "#memory/vectors/index-folders.ts";
import { clusteredVectors } from "../../helpers/random-vectors.ts";

const LINE = 50_000;
const DIMENSIONS = 16;
const folder = mkdtempSync(join(tmpdir(), "goald-line-"));
const noRows = {
  at: () => {
    throw new Error("It need not know.");
  },
  read: async () => undefined,
  has: () => false,
};
afterAll(() => rmSync(folder, { recursive: true }));

it("misses nothing before and while the graph is built, and almost nothing after", async () => {
  const reports: string[] = [];
  const scope = { namespace: "foo", embedder: "e", dimensions: DIMENSIONS };
  const open = openGraphIndexes({ folder, report: (problem) => reports.push(problem) }, () => LINE + 1);
  const index = open(scope, noRows);
  const exact = new ExactIndex(DIMENSIONS);
  const vectors = clusteredVectors(LINE + 200, DIMENSIONS, 100);
  const kept = indexFolder(folder, scope);
  const asked = async (): Promise<number> => {
    let missed = 0;
    for (let at = 0; at < 20; at++) {
      const query = vectors[at * 2_311] as Float32Array;
      const truth = new Set((await exact.search(query, 10)).map(({ slot }) => slot));
      missed += 10 - (await index.search(query, 10)).filter(({ slot }) => truth.has(slot)).length;
    }
    return missed;
  };
  for (const [slot, vector] of vectors.slice(0, LINE).entries())
    await Promise.all([index.add(slot, vector), exact.add(slot, vector)]);
  expect(await asked()).toBe(0);
  await sleep(500);
  expect(existsSync(kept)).toBe(false);

  // The graph is being built from here on; its saved files show the progress.
  for (let slot = LINE; slot < vectors.length; slot++) {
    await Promise.all([index.add(slot, vectors[slot] as Float32Array), exact.add(slot, vectors[slot] as Float32Array)]);
    expect(await index.search(vectors[slot] as Float32Array, 1)).toEqual([{ slot, score: expect.closeTo(1, 5) }]);
    await sleep(1);
  }
  for (let waited = 0; !(existsSync(kept) && readdirSync(kept).includes("3.json")); waited++) {
    if (waited > 10_000) throw new Error("Waited in vain for the graph.");
    expect(await asked()).toBeLessThanOrEqual(1);
    await sleep(25);
  }
  await sleep(2_000);
  expect(await asked()).toBeLessThanOrEqual(1);
  expect(reports).toEqual([]);
  await index.close();
  expect(readdirSync(kept).filter((name) => name.endsWith(".json")).length).toBe(2);
}, 600_000);
