import { execFile, spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { cp, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";
import { afterEach, describe, expect, it } from "@jest/globals";
import { ExactIndex } from "#memory/vectors/exact-index.ts";
import { meanOf, toUnit } from "#memory/vectors/unit-vector.ts";
import { openWordEmbedder } from "#memory/vectors/word-embedder.ts";
import { makeTexts } from "../../../bench/memory-size/fill.ts";
import { vectorIndexContract } from "../../contracts/vector-index.ts";
import { plainIndex } from "../../helpers/plain-index.ts";
import { clusteredVectors } from "../../helpers/random-vectors.ts";
import { openSettledGraph, type SettledGraph } from "../../helpers/settled-graph.ts";

const opened: SettledGraph[] = [];
const folders: string[] = [];
const open = (...given: Parameters<typeof openSettledGraph>): SettledGraph => {
  const index = openSettledGraph(...given);
  opened.push(index);
  return index;
};
const newFolder = async (): Promise<string> => {
  const folder = await mkdtemp(join(tmpdir(), "goald-graph-"));
  folders.push(folder);
  return folder;
};
afterEach(async () => {
  for (const index of opened.splice(0)) await index.close();
  for (const folder of folders.splice(0)) await rm(folder, { recursive: true, force: true });
});

const DIMENSIONS = 16;
const vectors = clusteredVectors(600, DIMENSIONS, 12);
const fill = async (index: SettledGraph, from = 0, to = vectors.length): Promise<void> => {
  for (let slot = from; slot < to; slot++) await index.add(slot, vectors[slot] as Float32Array);
};
const slotsOf = (hits: readonly { slot: number }[]): number[] => hits.map(({ slot }) => slot);
const truth = plainIndex(DIMENSIONS);
for (const [slot, vector] of vectors.entries()) void truth.add(slot, vector);
const query = vectors[77] as Float32Array;
const expected = async () => slotsOf(await truth.search(query, 10));
const lives = (pid: number): boolean => existsSync(`/proc/${pid}`);
async function until(isSo: () => boolean): Promise<void> {
  for (let waited = 0; !isSo(); waited++) {
    if (waited > 6_000) throw new Error(`Waited in vain for ${isSo}.`);
    await sleep(5);
  }
}

vectorIndexContract("the graph in a process of its own", (dimensions) => open(dimensions), { missedShare: 0.005 });

describe("an index with a graph", () => {
  it("searches by the graph, without comparing every row", async () => {
    const index = open(DIMENSIONS);
    await fill(index);
    expect(slotsOf(await index.search(query, 10))).toEqual(await expected());
    expect(index.scans()).toBe(0);
  });

  it("starts its process at the first search of the minimum number of rows, and searches exactly until then", async () => {
    const index = open(DIMENSIONS, { fromRows: 601, waits: false });
    await fill(index);
    expect(slotsOf(await index.search(query, 10))).toEqual(await expected());
    await index.add(600, query);
    expect(index.keeper.pid).toBeUndefined();
    expect(slotsOf(await index.search(query, 1))).toEqual([600]);
    expect(index.keeper.pid).toBeGreaterThan(0);
    expect(index.scans()).toBe(2);
    await index.settled();
    expect(slotsOf(await index.search(query, 1))).toEqual([600]);
    expect(index.scans()).toBe(2);
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
    const index = open(DIMENSIONS, { waits: false });
    await fill(index);
    await index.settled();
    for (const [at, vector] of clusteredVectors(300, DIMENSIONS, 12, 5).entries()) await index.add(600 + at, vector);
    await index.add(900, query);
    await index.remove(77);
    expect(index.keeper.isReady).toBe(true);
    expect([...index.keeper.unsent()].length).toBe(302);
    const [best, second] = await index.search(query, 2);
    expect(best?.slot).toBe(900);
    expect(second?.slot).not.toBe(77);
    expect(index.scans()).toBe(0);
  });

  it("rebuilds the graph when more than a quarter of it is dead, and searches exactly meanwhile", async () => {
    const index = open(DIMENSIONS, { waits: false });
    await fill(index);
    await index.settled();
    const wasReady: boolean[] = [];
    for (let slot = 100; slot < 500; slot++) {
      await index.remove(slot);
      wasReady.push(index.keeper.isReady);
      if (slot % 50 === 0) await sleep(5);
      expect(slotsOf(await index.search(query, 5))[0]).toBe(77);
    }
    expect(wasReady).toContain(false);
    await index.settled();
    const scans = index.scans();
    expect(slotsOf(await index.search(query, 1))).toEqual([77]);
    expect(index.scans()).toBe(scans);
  });
});

describe("a graph of 10,000 texts", () => {
  it("finds what the scan finds for questions less the mean of the texts", async () => {
    const embedder = openWordEmbedder();
    const makeText = makeTexts(1);
    const texts = Array.from({ length: 10_100 }, () => makeText(200));
    const made = await embedder.embed(texts, new AbortController().signal);
    const rows = made.slice(0, 10_000);
    const mean = meanOf(rows, embedder.dimensions);
    const queries = made.slice(10_000).map((row) =>
      toUnit(
        row.map((x, at) => x - (mean[at] as number)),
        row.length,
      ),
    );
    const exact = new ExactIndex(embedder.dimensions);
    const index = open(embedder.dimensions, { fromRows: rows.length });
    for (const [slot, row] of rows.entries()) await Promise.all([exact.add(slot, row), index.add(slot, row)]);
    let found = 0;
    for (const query of queries) {
      const expected = new Map((await exact.search(query, 30)).map(({ slot, score }) => [slot, score]));
      const hits = (await index.search(query, 30)).filter(({ slot }) => expected.has(slot));
      for (const { slot, score } of hits) expect(score).toBe(expected.get(slot));
      found += hits.length;
    }
    expect(index.scans()).toBe(0);
    expect(found).toBe(30 * queries.length);
  });
});

describe("the process of a graph", () => {
  it("is restarted by the next search after a kill, and every search misses nothing meanwhile", async () => {
    const index = open(DIMENSIONS);
    await fill(index);
    await index.settled();
    const first = index.keeper.pid as number;
    const search = index.search(query, 10);
    process.kill(first, "SIGKILL");
    expect(slotsOf(await search)).toEqual(await expected());
    await until(() => index.keeper.pid === undefined);
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
      await until(() => index.keeper.pid === undefined);
    }
    expect(slotsOf(await index.search(query, 10))).toEqual(await expected());
    expect(index.keeper.pid).toBeUndefined();
    expect(index.reports).toEqual([expect.stringMatching(/died twice; memory uses exact search instead/)]);
    await index.add(600, query);
    expect(index.size).toBe(601);
  });

  it("is killed when it hangs, and searches are exact meanwhile", async () => {
    const index = open(DIMENSIONS, { searchLimitMs: 20 });
    await fill(index);
    await index.settled();
    const pid = index.keeper.pid as number;
    process.kill(pid, "SIGSTOP");
    for (let time = 0; time < 3; time++) {
      await until(() => index.keeper.isReady);
      expect(slotsOf(await index.search(query, 10))).toEqual(await expected());
    }
    expect(index.scans()).toBe(3);
    await until(() => index.keeper.pid !== pid);
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
    const child = spawn(process.execPath, [join(import.meta.dirname, "graph-owner.child.ts")], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    const [pid] = (await new Promise<string>((resolve) => child.stdout.once("data", (data) => resolve(`${data}`))))
      .split("\n")
      .map(Number) as [number];
    expect(lives(pid)).toBe(true);
    child.kill("SIGKILL");
    await until(() => !lives(pid));
  });
});

describe("a machine without hnswlib-node", () => {
  it("uses exact search and reports it once", async () => {
    const folder = await newFolder();
    for (const name of ["core", "memory", "util"])
      await cp(`src/${name}`, join(folder, "src", name), { recursive: true });
    await cp("package.json", join(folder, "package.json"));
    const program = join(folder, "ask.ts");
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
});
