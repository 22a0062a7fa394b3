/**
 * Corrupts index files, a thousand unless GOALD_TEST_ROUNDS sets another number: the process that reads them survives,
 * every row is found, and corrupt files are deleted. Files with matching checksums may crash the process, not the daemon.
 */
import { createHash } from "node:crypto";
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { ExactIndex } from "#memory/vectors/exact-index.ts";
import { GraphChild } from "#memory/vectors/graph-child.ts";
import { clusteredVectors, randomNumbers } from "../../helpers/random-vectors.ts";
import { rounds } from "../../helpers/rounds.ts";
import { openSettledGraph } from "../../helpers/settled-graph.ts";

const DIMENSIONS = 8;
const ROWS = 150;
const FILES_SPOILT = rounds(1_000);
/** A busy machine may need longer than the 250 ms that a recall waits. */
const SLOW_MACHINE_MS = 30_000;
/** Layout of the library's file: each row has a count, 32 neighbours, the vector and the label. */
const HEADER_BYTES = 96;
const ROW_BYTES = 4 + 32 * 4 + DIMENSIONS * 4 + 8;
const root = mkdtempSync(join(tmpdir(), "goald-fuzz-"));
const [sound, foreign, folder] = ["sound", "foreign", "spoilt"].map((name) => join(root, name)) as [
  string,
  string,
  string,
];
const vectors = clusteredVectors(ROWS, DIMENSIONS, 6);
const queries = clusteredVectors(5, DIMENSIONS, 6, 9);
const exact = new ExactIndex(DIMENSIONS);
const scope = { namespace: "foo", embedder: `test@${DIMENSIONS}`, dimensions: DIMENSIONS };
const centre = new Float32Array(DIMENSIONS);
const next = randomNumbers(1);
const below = (limit: number): number => Math.floor(next() * limit);
const oneOf = <T>(items: readonly T[]): T => items[below(items.length)] as T;

async function keep(into: string, dimensions: number, rows: readonly Float32Array[]): Promise<void> {
  const index = openSettledGraph(dimensions, { folder: into });
  for (const [slot, vector] of rows.entries()) await index.add(slot, vector);
  await index.settled();
  await index.close();
}

beforeAll(async () => {
  for (const [slot, vector] of vectors.entries()) await exact.add(slot, vector);
  await keep(sound, DIMENSIONS, vectors);
  await keep(foreign, DIMENSIONS + 4, clusteredVectors(ROWS, DIMENSIONS + 4, 6));
});
afterAll(() => rmSync(root, { recursive: true }));

const FILES = ["1.graph", "1.keys", "1.json"];
const path = (name: string): string => join(folder, name);
const rewrite = (name: string, change: (bytes: Buffer) => Uint8Array): void =>
  writeFileSync(path(name), change(readFileSync(path(name))));
const manifest = (): Record<string, unknown> => JSON.parse(readFileSync(path("1.json"), "utf8"));
const saveManifest = (changed: object): void => writeFileSync(path("1.json"), JSON.stringify(changed));

/** Each returns a description of its change. */
const SPOILERS: readonly (() => string)[] = [
  function flipBits() {
    const [name, times] = [oneOf(FILES), 1 + below(20)];
    rewrite(name, (bytes) => {
      for (let time = 0; time < times; time++) {
        const at = below(bytes.length);
        bytes[at] = (bytes[at] as number) ^ (1 << below(8));
      }
      return bytes;
    });
    return `${times} bits of ${name} flipped`;
  },
  function cut() {
    const name = oneOf(FILES);
    rewrite(name, (bytes) => bytes.subarray(0, below(bytes.length)));
    return `${name} cut off`;
  },
  function grow() {
    const name = oneOf(FILES);
    rewrite(name, (bytes) => Buffer.concat([bytes, Buffer.alloc(1 + below(5_000), below(256))]));
    return `${name} longer`;
  },
  function replaceByGarbage() {
    const name = oneOf(FILES);
    writeFileSync(
      path(name),
      Uint8Array.from({ length: below(20_000) }, () => below(256)),
    );
    return `${name} garbage`;
  },
  function remove() {
    const name = oneOf(FILES);
    rmSync(path(name));
    return `${name} gone`;
  },
  function swap() {
    const [one, other] = [readFileSync(path("1.graph")), readFileSync(path("1.keys"))];
    writeFileSync(path("1.graph"), other);
    writeFileSync(path("1.keys"), one);
    return "graph and keys swapped";
  },
  function takeForeign() {
    const names = FILES.filter(() => next() < 0.6);
    for (const name of names) cpSync(join(foreign, name), path(name));
    return `${names} of another dimension`;
  },
  function relabel() {
    const field = oneOf([
      "dimensions",
      "space",
      "embedder",
      "namespace",
      "links",
      "format",
      "library",
      "constructionReach",
    ]);
    const found = manifest();
    saveManifest({ ...found, [field]: typeof found[field] === "number" ? (found[field] as number) + 1 : "other" });
    return `another ${field}`;
  },
  function miscount() {
    saveManifest({ ...manifest(), count: oneOf([0, -1, ROWS - 1, ROWS + 1, 1e12, null, "150"]) });
    return "another count";
  },
  function addBadGeneration() {
    const name = oneOf(FILES).replace("1", "2");
    for (const file of FILES) cpSync(path(file), path(file.replace("1", "2")));
    rewrite(name, (bytes) => bytes.subarray(0, below(bytes.length)));
    return `a newer generation, of which ${name} is cut off`;
  },
  function replaceByOther() {
    const name = oneOf(FILES);
    rmSync(path(name));
    if (next() < 0.5) mkdirSync(path(name));
    else symlinkSync(oneOf(["/dev/zero", "/nowhere", "/proc/self/mem"]), path(name));
    return `${name} is no file`;
  },
];

function restore(): void {
  rmSync(folder, { recursive: true, force: true });
  cpSync(sound, folder, { recursive: true });
}

const nearest = async (): Promise<readonly (readonly number[])[]> => {
  const found = [];
  for (const query of queries) found.push((await exact.search(query, 10)).map(({ slot }) => slot));
  return found;
};

describe("corrupt index files", () => {
  it(`never crash the process nor lose a row, in ${FILES_SPOILT} variants`, async () => {
    const expected = await nearest();
    let deaths = 0;
    const child = new GraphChild(() => deaths++);
    const rows = [...vectors.keys()].map((slot) => exact.vectorOf(slot) as Float32Array);
    const added = Uint32Array.from(vectors.keys());
    const all = Float32Array.from(rows.flatMap((row) => [...row]));
    const failures: string[] = [];
    const outcomes = { refused: 0, taken: 0 };
    for (let time = 0; time < FILES_SPOILT; time++) {
      restore();
      const what = (SPOILERS[time % SPOILERS.length] as () => string)();
      const { found, problem } = await child.request("open", { ...scope, folder, from: "saved", centre });
      outcomes[problem === undefined ? "taken" : "refused"]++;
      const left = readdirSync(folder).sort().join();
      if (problem !== undefined && left !== (found > 0 ? "1.graph,1.json,1.keys" : ""))
        failures.push(`${what}: left ${left}`);
      await child.request("change", { removed: new Uint32Array(0), added, vectors: all });
      for (const [at, query] of queries.entries()) {
        const unit = query.map((x) => x / Math.hypot(...query));
        const slots = [...(await child.request("search", { query: unit, count: 10 }, SLOW_MACHINE_MS))];
        if (slots.join() !== expected[at]?.join()) failures.push(`${what}: found ${slots}, not ${expected[at]}`);
      }
    }
    await child.stop();
    expect(failures).toEqual([]);
    expect(deaths).toBe(0);
    // A changed blank in the manifest or a swap of equal bytes has no effect.
    expect(outcomes.refused).toBeGreaterThan(0.9 * FILES_SPOILT);
  });

  it("with matching checksums kill the process; it restarts without them, and every search is right", async () => {
    const expected = await nearest();
    let deaths = 0;
    for (let time = 0; time < 20; time++) {
      restore();
      rewrite("1.graph", (bytes) => {
        for (let row = 0; row < ROWS; row++) bytes.writeUInt32LE(below(2 ** 32), HEADER_BYTES + row * ROW_BYTES + 4);
        return bytes;
      });
      const bytes = readFileSync(path("1.graph"));
      const sha256 = createHash("sha256").update(bytes).digest("hex");
      saveManifest({ ...manifest(), graph: { bytes: bytes.length, sha256 } });
      const index = openSettledGraph(DIMENSIONS, { folder, waits: false });
      for (const [slot, vector] of vectors.entries()) await index.add(slot, vector);
      const pid = index.keeper.pid;
      for (const [at, query] of queries.entries())
        expect((await index.search(query, 10)).map(({ slot }) => slot)).toEqual(expected[at]);
      await Promise.race([index.settled(), new Promise((resolve) => setTimeout(resolve, 1_000))]);
      for (const [at, query] of queries.entries()) {
        const found = await index.search(query, 10);
        expect(found).toHaveLength(10);
        if (index.keeper.pid !== pid) {
          deaths++;
          expect(found.map(({ slot }) => slot)).toEqual(expected[at]);
          break;
        }
      }
      await index.close();
    }
    expect(deaths).toBeGreaterThan(0);
  });
});
