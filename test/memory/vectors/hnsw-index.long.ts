import { execFile, spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { cp, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
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

  it("starts no process below the minimum number of rows, and searches exactly", async () => {
    const index = open(DIMENSIONS, { fromRows: 601, waits: false });
    await fill(index);
    expect(slotsOf(await index.search(query, 10))).toEqual(await expected());
    expect(index.keeper.pid).toBeUndefined();
    await index.add(600, query);
    expect(index.keeper.pid).toBeGreaterThan(0);
    expect(slotsOf(await index.search(query, 1))).toEqual([600]);
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

  it("rebuilds the graph when more than a quarter of it is dead", async () => {
    const folder = await newFolder();
    const countAfter = async (removed: number): Promise<number> => {
      const index = open(DIMENSIONS, { folder });
      await fill(index);
      await index.search(query, 5);
      for (let slot = 100; slot < 100 + removed; slot++) await index.remove(slot);
      expect(slotsOf(await index.search(query, 5))[0]).toBe(77);
      await index.close();
      const newest = (await readdir(folder))
        .filter((name) => name.endsWith(".json"))
        .sort()
        .at(-1);
      return JSON.parse(await readFile(join(folder, newest ?? ""), "utf8")).count;
    };
    expect(await countAfter(100)).toBe(600);
    expect(await countAfter(400)).toBe(200);
  });
});

describe("a graph of 10,000 texts", () => {
  it("finds what the scan finds for questions less the mean of the texts, also when it was read from disk", async () => {
    const folder = await newFolder();
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
    for (const [slot, row] of rows.entries()) await exact.add(slot, row);
    for (const _start of ["built", "read"]) {
      const index = open(embedder.dimensions, { folder, fromRows: rows.length });
      for (const [slot, row] of rows.entries()) await index.add(slot, row);
      // The first search starts the saving to disk.
      await index.search(queries[0] as Float32Array, 1);
      const before = index.scans();
      let found = 0;
      for (const query of queries) {
        const expected = new Map((await exact.search(query, 30)).map(({ slot, score }) => [slot, score]));
        const hits = (await index.search(query, 30)).filter(({ slot }) => expected.has(slot));
        for (const { slot, score } of hits) expect(score).toBe(expected.get(slot));
        found += hits.length;
      }
      expect(index.scans()).toBe(before);
      expect(found).toBe(30 * queries.length);
      await index.close();
    }
  });
});

describe("the process of a graph", () => {
  it("is restarted after a kill, and every search misses nothing meanwhile", async () => {
    const index = open(DIMENSIONS);
    await fill(index);
    await index.settled();
    const first = index.keeper.pid as number;
    const search = index.search(query, 10);
    process.kill(first, "SIGKILL");
    expect(slotsOf(await search)).toEqual(await expected());
    await until(() => index.keeper.pid !== undefined && index.keeper.pid !== first);
    expect(slotsOf(await index.search(query, 10))).toEqual(await expected());
    expect(index.reports).toEqual([]);
  });

  it("is given up after its third death, with one report and exact search", async () => {
    const index = open(DIMENSIONS, { restartMs: 1 });
    await fill(index);
    for (let death = 0; death < 3; death++) {
      await index.settled();
      const pid = index.keeper.pid as number;
      process.kill(pid, "SIGSEGV");
      await until(() => index.keeper.pid !== pid);
    }
    await sleep(50);
    expect(index.keeper.pid).toBeUndefined();
    expect(index.reports).toEqual([expect.stringMatching(/died 3 times; memory uses exact search instead/)]);
    expect(index.keeper.isReady).toBe(false);
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

  it("ends when idle, and the next search restarts it with the saved graph", async () => {
    const folder = await newFolder();
    const index = open(DIMENSIONS, { folder, idleMs: 50, waits: false });
    await fill(index);
    await until(() => existsSync(join(folder, "1.json")) && index.keeper.pid === undefined);
    expect(slotsOf(await index.search(query, 10))).toEqual(await expected());
    expect(index.keeper.pid).toBeGreaterThan(0);
    await until(() => index.keeper.pid === undefined);
    // Nothing was added, so nothing was saved.
    expect((await readdir(folder)).sort()).toEqual(["1.graph", "1.json", "1.keys"]);
    expect(index.reports).toEqual([]);
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
      `import { openGraphIndexes } from "#memory/vectors/choose-index.ts";
       const reports: string[] = [];
       const open = openGraphIndexes({ folder: null, report: (problem) => reports.push(problem) }, () => 1);
       const index = open({ namespace: "foo", embedder: "e", dimensions: 2 });
       for (let slot = 0; slot < 9; slot++) await index.add(slot, Float32Array.of(slot, 1));
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

describe("a saved graph", () => {
  const keptIn = async (folder: string): Promise<readonly string[]> => (await readdir(folder)).sort();

  it("is read at the next start: nothing is added again, and searches return the same", async () => {
    const folder = await newFolder();
    const first = open(DIMENSIONS, { folder });
    await fill(first);
    const found = await first.search(query, 10);
    await first.close();
    const files = await keptIn(folder);
    expect(files).toEqual(["1.graph", "1.json", "1.keys"]);

    const second = open(DIMENSIONS, { folder });
    await fill(second);
    expect(await second.search(query, 10)).toEqual(found);
    expect(second.scans()).toBe(0);
    await second.close();
    // Nothing was added, so nothing was saved.
    expect(await keptIn(folder)).toEqual(files);
  });

  it("serves rows under other slots, without removed rows and with new ones", async () => {
    const folder = await newFolder();
    const first = open(DIMENSIONS, { folder });
    await fill(first, 0, 500);
    await first.settled();
    await first.close();
    const second = open(DIMENSIONS, { folder });
    const shifted = plainIndex(DIMENSIONS);
    for (const index of [second, shifted])
      for (let slot = 50; slot < 600; slot++) await index.add(slot - 50, vectors[slot] as Float32Array);
    expect(slotsOf(await second.search(query, 10))).toEqual(slotsOf(await shifted.search(query, 10)));
    await second.close();
    expect(await keptIn(folder)).toEqual(["1.graph", "1.json", "1.keys", "2.graph", "2.json", "2.keys"]);
  });

  it("is left alone by an index without rows", async () => {
    const folder = await newFolder();
    const first = open(DIMENSIONS, { folder });
    await fill(first);
    await first.settled();
    await first.close();
    const files = await keptIn(folder);
    await open(DIMENSIONS, { folder }).close();
    expect(await keptIn(folder)).toEqual(files);
  });
});

describe("a full disk", () => {
  const run = promisify(execFile);
  const child = join(import.meta.dirname, "full-disk.child.ts");
  const underLimit = async (blocks: string) => {
    const script = `ulimit -f ${blocks}; exec "$0" "$@"`;
    const folder = await newFolder();
    const { stdout } = await run("sh", ["-c", script, process.execPath, child, folder]);
    return { ...(JSON.parse(stdout) as object), files: (await readdir(folder)).length };
  };

  it("saves no graph, reports it once, leaves no files, and searches go on", async () => {
    expect(await underLimit("64")).toEqual({
      best: [77, 77],
      reports: [expect.stringMatching(/could not be saved/)],
      files: 0,
    });
  });

  it("is the cause: with free space the graph is saved", async () => {
    expect(await underLimit("unlimited")).toEqual({ best: [77, 77], reports: [], files: 6 });
  });
});
