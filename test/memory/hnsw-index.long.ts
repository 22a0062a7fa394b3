import { execFile, spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { cp, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";
import { describe, expect, it } from "@jest/globals";
import { ExactIndex } from "#memory/vectors/exact-index.ts";
import { openScanMemory } from "#memory/vectors/int8-scan.ts";
import { vectorIndexContract } from "../contracts/vector-index.ts";
import { useFolder, useOpened } from "../helpers/folder.ts";
import { plainIndex, SettledGraph } from "../helpers/indexes.ts";
import { clusteredVectors } from "../helpers/memory-rows.ts";
import { readProcessLines, waitUntil } from "../helpers/waits.ts";

const at = useFolder();
const keep = useOpened();
const open = (...given: ConstructorParameters<typeof SettledGraph>) => keep(new SettledGraph(...given));

const DIMENSIONS = 16;
const vectors = clusteredVectors(600, DIMENSIONS, 12);
const fill = async (index: SettledGraph, from = 0, to = vectors.length): Promise<void> => {
  for (let slot = from; slot < to; slot++) await index.add(slot, vectors[slot] as Float32Array);
};
/** An index with all rows, also in its graph. */
async function openFilled(options?: ConstructorParameters<typeof SettledGraph>[1]): Promise<SettledGraph> {
  const index = open(DIMENSIONS, options);
  await fill(index);
  await index.settled();
  return index;
}
const slotsOf = (hits: readonly { slot: number }[]): number[] => hits.map(({ slot }) => slot);
const truth = plainIndex(DIMENSIONS);
for (const [slot, vector] of vectors.entries()) void truth.add(slot, vector);
const query = vectors[77] as Float32Array;
const expected = async () => slotsOf(await truth.search(query, 10));
const lives = (pid: number): boolean => existsSync(`/proc/${pid}`);
vectorIndexContract("the graph in a process of its own", (dimensions) => open(dimensions), { missedShare: 0.005 });

describe("an index with a graph", () => {
  it("searches by the graph, without comparing every row", async () => {
    const index = open(DIMENSIONS);
    await fill(index);
    expect(slotsOf(await index.search(query, 10))).toEqual(await expected());
    expect(index.scans).toBe(0);
  });

  it("starts its process at the first search of the minimum number of rows, and searches exactly until then", async () => {
    const index = open(DIMENSIONS, { fromRows: 601, waits: false });
    await fill(index);
    expect(slotsOf(await index.search(query, 10))).toEqual(await expected());
    await index.add(600, query);
    expect(index.keeper.pid).toBeUndefined();
    expect(slotsOf(await index.search(query, 1))).toEqual([600]);
    expect(index.keeper.pid).toBeGreaterThan(0);
    expect(index.scans).toBe(2);
    await index.settled();
    expect(slotsOf(await index.search(query, 1))).toEqual([600]);
    expect(index.scans).toBe(2);
  });

  it("starts its process with an empty environment and a lower priority", async () => {
    const index = open(DIMENSIONS);
    await fill(index, 0, 10);
    await index.settled();
    const environment = await readFile(`/proc/${index.keeper.pid}/environ`, "utf8");
    expect(environment.split("\0").filter((entry) => entry !== "" && !/^NODE_CHANNEL_\w+=/.test(entry))).toEqual([]);
    const stat = await readFile(`/proc/${index.keeper.pid}/stat`, "utf8");
    expect(Number(stat.split(") ")[1]?.split(" ")[16])).toBeGreaterThan(0);
  });

  it("finds rows not yet sent to the graph, and no removed rows", async () => {
    const index = await openFilled({ waits: false });
    for (const [at, vector] of clusteredVectors(300, DIMENSIONS, 12, 5).entries()) await index.add(600 + at, vector);
    await index.add(900, query);
    await index.remove(77);
    expect(index.keeper.isReady).toBe(true);
    expect([...index.keeper.unsent()].length).toBe(302);
    const [best, second] = await index.search(query, 2);
    expect(best?.slot).toBe(900);
    expect(second?.slot).not.toBe(77);
    expect(index.scans).toBe(0);
  });

  it("rebuilds the graph when more than a quarter of it is dead, and searches exactly meanwhile", async () => {
    const index = await openFilled({ waits: false });
    const wasReady: boolean[] = [];
    for (let slot = 100; slot < 500; slot++) {
      await index.remove(slot);
      wasReady.push(index.keeper.isReady);
      if (slot % 50 === 0) await sleep(5);
      expect(slotsOf(await index.search(query, 5))[0]).toBe(77);
    }
    expect(wasReady).toContain(false);
    await index.settled();
    const scans = index.scans;
    expect(slotsOf(await index.search(query, 1))).toEqual([77]);
    expect(index.scans).toBe(scans);
  });
});

describe("the process of a graph", () => {
  it("is restarted by the next search after a kill, and every search misses nothing meanwhile", async () => {
    const index = await openFilled();
    const first = index.keeper.pid as number;
    const search = index.search(query, 10);
    process.kill(first, "SIGKILL");
    expect(slotsOf(await search)).toEqual(await expected());
    await waitUntil("the process is gone", () => index.keeper.pid === undefined);
    expect(slotsOf(await index.search(query, 10))).toEqual(await expected());
    expect(index.keeper.pid).not.toBe(first);
    expect(index.reports).toEqual([]);
  });

  it("is given up after its second death, with one report and exact search", async () => {
    const index = open(DIMENSIONS, { waits: false });
    await fill(index);
    for (let death = 0; death < 2; death++) {
      await index.settled();
      process.kill(index.keeper.pid as number, "SIGSEGV");
      await waitUntil("the process is gone", () => index.keeper.pid === undefined);
    }
    expect(slotsOf(await index.search(query, 10))).toEqual(await expected());
    expect(index.keeper.pid).toBeUndefined();
    expect(index.reports).toEqual([expect.stringMatching(/died twice; memory uses exact search instead/)]);
    await index.add(600, query);
    expect(index.size).toBe(601);
  });

  it("is killed when it hangs, and searches are exact meanwhile", async () => {
    const index = await openFilled({ searchLimitMs: 20 });
    const pid = index.keeper.pid as number;
    process.kill(pid, "SIGSTOP");
    for (let time = 0; time < 3; time++) {
      await waitUntil("the graph is ready", () => index.keeper.isReady);
      expect(slotsOf(await index.search(query, 10))).toEqual(await expected());
    }
    expect(index.scans).toBe(3);
    await waitUntil("another process", () => index.keeper.pid !== pid);
    expect(lives(pid)).toBe(false);
  });

  it("ends when the index is closed, also while it takes the rows", async () => {
    for (const isSettled of [true, false]) {
      const index = open(DIMENSIONS, { waits: false });
      await fill(index);
      if (isSettled) await index.settled();
      else await index.search(query, 10);
      const pid = index.keeper.pid as number;
      expect(lives(pid)).toBe(true);
      await index.close();
      expect([lives(pid), index.keeper.pid, index.reports]).toEqual([false, undefined, []]);
    }
  });

  it("ends with its parent, even a killed one", async () => {
    const program = join(import.meta.dirname, "graph-owner.child.ts");
    const { child, lines, reach } = readProcessLines(
      spawn(process.execPath, [program], { stdio: ["ignore", "pipe", 2] }),
    );
    await reach(1);
    const pid = Number(lines[0]);
    expect(lives(pid)).toBe(true);
    child.kill("SIGKILL");
    await waitUntil("its end", () => !lives(pid));
  });
});

it("a machine without hnswlib-node uses exact search and reports it once", async () => {
  for (const name of ["core", "memory", "util"]) await cp(`src/${name}`, at("src", name), { recursive: true });
  await cp("package.json", at("package.json"));
  const program = at("ask.ts");
  await writeFile(
    program,
    `import { openGraphIndexes } from "#memory/vectors/hnsw-index.ts";
     const reports: string[] = [];
     const open = openGraphIndexes((problem) => reports.push(problem), () => 1);
     const index = open({ namespace: "foo", embedder: "e", dimensions: 2 });
     for (let slot = 0; slot < 9; slot++) await index.add(slot, Float32Array.of(slot, 1));
     await index.search(Float32Array.of(9, 1), 1);
     for (let time = 0; time < 1_000 && reports.length === 0; time++) await new Promise((done) => setTimeout(done, 20));
     await index.add(9, Float32Array.of(9, 1));
     const [best] = await index.search(Float32Array.of(9, 1), 1);
     await index.close();
     console.log(JSON.stringify({ best: best?.slot, reports }));`,
  );
  const { stdout } = await promisify(execFile)(process.execPath, [program]);
  expect(JSON.parse(stdout)).toEqual({
    best: 9,
    reports: [expect.stringMatching(/searches without hnswlib-node, which cannot be loaded.*Cannot find package/)],
  });
});

const LINE = 50_000;
it("misses nothing before and while the graph is built, and almost nothing after", async () => {
  const index = open(DIMENSIONS, { fromRows: LINE + 1, waits: false });
  const exact = new ExactIndex(DIMENSIONS);
  const vectors = clusteredVectors(LINE + 200, DIMENSIONS, 100);
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
  expect(index.keeper.pid).toBeUndefined();

  // The graph is being built from here on.
  for (let slot = LINE; slot < vectors.length; slot++) {
    await Promise.all([index.add(slot, vectors[slot] as Float32Array), exact.add(slot, vectors[slot] as Float32Array)]);
    expect(await index.search(vectors[slot] as Float32Array, 1)).toEqual([{ slot, score: expect.closeTo(1, 5) }]);
    await sleep(1);
  }
  expect(index.keeper.isReady).toBe(false);
  while (!index.keeper.isReady) {
    expect(await asked()).toBeLessThanOrEqual(1);
    await sleep(25);
  }
  await index.settled();
  const scans = index.scans;
  expect(await asked()).toBeLessThanOrEqual(1);
  expect(index.scans).toBe(scans);
  expect(index.reports).toEqual([]);
}, 600_000);

// The contract of an index on the plain one of the tests, and on the exact one where WebAssembly is missing.
vectorIndexContract("the plain index of the tests", plainIndex);
vectorIndexContract(
  "the exact index without WebAssembly",
  (dimensions) => new ExactIndex(dimensions, openScanMemory({ native: false })),
);
