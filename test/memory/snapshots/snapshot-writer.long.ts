import { execFile, spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, readdirSync, rmSync, watch } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, describe, expect, it } from "@jest/globals";
import { randomNumbers } from "../../helpers/random-vectors.ts";
import { rounds } from "../../helpers/rounds.ts";
import { recallNumbered } from "./numbered-rows.ts";

const root = mkdtempSync(join(tmpdir(), "goald-writer-"));
afterAll(() => rmSync(root, { recursive: true }));
const CHILD = join(import.meta.dirname, "snapshot-writer.child.ts");
const MOST_ROWS = 1_500;

/** Kills the writer when it has begun its n-th snapshot, or somewhat later. */
async function writeAndDie(folder: string, nth: number, laterMs: number): Promise<void> {
  const child = spawn(process.execPath, [CHILD, folder, "300", `${MOST_ROWS}`], {
    stdio: ["ignore", "ignore", "inherit"],
  });
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
    const folder = mkdtempSync(join(root, "killed-"));
    mkdirSync(join(folder, "foo"));
    await writeAndDie(folder, 2 + Math.floor(8 * next()), Math.max(0, 40 * next() - 10));
    seen.temporary += readdirSync(join(folder, "foo")).length - 1;
    const { recalls, shown, read, notes } = await recallNumbered(folder, MOST_ROWS, { isSaved: true });
    const plain = await recallNumbered(join(folder, "none"), MOST_ROWS, { isSaved: false });
    expect({ recalls, notes }).toEqual({ recalls: plain.recalls, notes: [] });
    if (read < MOST_ROWS) seen.used++;
    expect(readdirSync(join(folder, "foo"))).toEqual(["words.snapshot"]);
    for (const gone of [shown.slice(0, 1), shown.slice(0, 20)]) {
      const later = await recallNumbered(folder, MOST_ROWS, { isSaved: true, gone });
      expect({ notes: later.notes, gone: later.shown.filter((id) => gone.includes(id)) }).toEqual({
        notes: [],
        gone: [],
      });
    }
  }
  expect(seen.used).toBe(rounds(20));
  expect(seen.temporary).toBeGreaterThan(0);
});

describe("a full disk", () => {
  const underLimit = async (blocks: string) => {
    const folder = mkdtempSync(join(root, "full-"));
    const script = `ulimit -f ${blocks}; exec "$0" "$@"`;
    const { stdout } = await promisify(execFile)("sh", ["-c", script, process.execPath, CHILD, folder, "1000"]);
    return { ...(JSON.parse(stdout) as object), files: readdirSync(join(folder, "foo")) };
  };

  it("leaves no snapshot and no part of one, and recalls go on", async () => {
    const { recalls, shown } = await recallNumbered(join(root, "none"), 1_000, { isSaved: false });
    const notes = [expect.stringMatching(/cannot be saved: EFBIG/)];
    expect(await underLimit("64")).toEqual({ recalls, shown, read: 1_000, notes, files: [] });
  });

  it("is the cause: with free space there is a snapshot (negative control)", async () => {
    expect(await underLimit("unlimited")).toMatchObject({ notes: [], files: ["words.snapshot"] });
  });
});
