import { execFile, spawn } from "node:child_process";
import { mkdirSync, readdirSync, watch } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { describe, expect, it } from "@jest/globals";
import { openWordEmbedder } from "#memory/vectors/offline-embedder.ts";
import { makeTexts } from "../../bench/memory-size/fill.ts";
import { useFolder } from "../helpers/folder.ts";
import { type MemoryRows, memoryRows, openRecall, randomNumbers } from "../helpers/memory-rows.ts";
import { rounds } from "../helpers/waits.ts";
import { recallNumbered } from "./numbered-rows.ts";
import { RandomLife } from "./random-life.ts";

const at = useFolder();
const seeds = Array.from({ length: rounds(12) }, (_, at) => 100 + at);

it.each(seeds)(
  "a memory recalls the same with and without its snapshot over a long life, also with an older store (seed %i)",
  async (seed) => {
    const counts = await new RandomLife(at(), seed).live(500);
    expect(counts.restored).toBeGreaterThan(10);
    expect(counts.refused).toBeGreaterThan(0);
  },
);

const CHILD = join(import.meta.dirname, "snapshot-writer.child.ts");
const MOST_ROWS = 1_500;

/** Kills the writer when it has begun its n-th snapshot, or somewhat later. */
async function writeAndDie(folder: string, nth: number, laterMs: number): Promise<void> {
  const child = spawn(process.execPath, [CHILD, folder, "300", `${MOST_ROWS}`], { stdio: ["ignore", "ignore", 2] });
  const begun = new Set<string>();
  const watching = watch(join(folder, "foo"), (_, name) => {
    if (name?.endsWith(".tmp")) begun.add(name);
    if (begun.size === nth) setTimeout(() => child.kill("SIGKILL"), laterMs);
  });
  await new Promise((resolve) => child.once("close", resolve));
  watching.close();
}

it("a writer that is killed at any time leaves a sound snapshot, and no other file after the next start", async () => {
  const next = randomNumbers(5);
  const seen = { temporary: 0, used: 0 };
  for (let round = 0; round < rounds(20); round++) {
    const folder = at(`killed-${round}`);
    mkdirSync(join(folder, "foo"), { recursive: true });
    await writeAndDie(folder, 2 + Math.floor(8 * next()), Math.max(0, 40 * next() - 10));
    seen.temporary += readdirSync(join(folder, "foo")).length - 1;
    const { recalls, shown, read, notes } = await recallNumbered(folder, MOST_ROWS, { isSaved: true });
    const plain = await recallNumbered(join(folder, "none"), MOST_ROWS, { isSaved: false });
    expect({ recalls, notes }).toEqual({ recalls: plain.recalls, notes: [] });
    if (read < MOST_ROWS) seen.used++;
    expect(readdirSync(join(folder, "foo"))).toEqual(["words.snapshot"]);
    for (const gone of [shown.slice(0, 1), shown.slice(0, 20)]) {
      const later = await recallNumbered(folder, MOST_ROWS, { isSaved: true, gone });
      expect([later.notes, later.shown.filter((id) => gone.includes(id))]).toEqual([[], []]);
    }
  }
  expect(seen.used).toBe(rounds(20));
  expect(seen.temporary).toBeGreaterThan(0);
});

describe("a full disk", () => {
  const underLimit = async (blocks: string) => {
    const folder = at();
    const script = `ulimit -f ${blocks}; exec "$0" "$@"`;
    const { stdout } = await promisify(execFile)("sh", ["-c", script, process.execPath, CHILD, folder, "1000"]);
    return { ...(JSON.parse(stdout) as object), files: readdirSync(join(folder, "foo")) };
  };

  it("leaves no snapshot and no part of one, and recalls go on", async () => {
    const { recalls, shown } = await recallNumbered(at("none"), 1_000, { isSaved: false });
    const notes = [expect.stringMatching(/cannot be saved: EFBIG/)];
    expect(await underLimit("64")).toEqual({ recalls, shown, read: 1_000, notes, files: [] });
  });

  it("is the cause: with free space there is a snapshot (negative control)", async () => {
    expect(await underLimit("unlimited")).toMatchObject({ notes: [], files: ["words.snapshot"] });
  });
});

const ROWS = 9_000;
const open = (store: MemoryRows) => openRecall({ store, embedder: openWordEmbedder() });

it("a process that starts anew recalls the same from 9,000 rows with the word table in its first recall", async () => {
  const store = memoryRows();
  const makeText = makeTexts(4);
  const add = (row: number) => store.add("foo", makeText(200), { kind: row % 3 === 0 ? "piece" : "step" });
  for (let row = 0; row < ROWS - 30; row++) add(row);
  const going = open(store);
  await going.recall(["Good morning"]);
  for (let row = 0; row < 30; row += 3) {
    for (const kind of [0, 1, 2]) add(kind);
    await going.recall([makeText(80)]);
  }
  const restarted = open(store);
  for (let question = 0; question < 10; question++) {
    const text = makeText(120);
    const [expected, found] = [await going.recall([text]), await restarted.recall([text])];
    expect(found).toHaveLength(10);
    expect(found.map(({ id, score }) => [id, score])).toEqual(expected.map(({ id, score }) => [id, score]));
  }
  expect([...going.reports, ...restarted.reports]).toEqual([]);
});
