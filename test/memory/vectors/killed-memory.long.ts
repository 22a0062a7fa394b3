/** kill -9 while rows are added, the graph is saved or all vectors are rebuilt, and kill -9 of the graph's process. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it } from "@jest/globals";
import { plainIndex } from "../../helpers/plain-index.ts";
import { clusteredVectors, randomNumbers } from "../../helpers/random-vectors.ts";
import { rounds } from "../../helpers/rounds.ts";
import { openSettledGraph } from "../../helpers/settled-graph.ts";

const LIVES = rounds(120);

interface Life {
  readonly opened: { readonly rows: number; readonly missing: number; readonly same: boolean } | undefined;
  readonly lastRow: number;
  readonly timesKept: number;
  readonly code: number | null;
}

/** Killed `afterMs` after its first report and `lines` more lines. */
async function live(home: string, life: number, acknowledged: number, lines: number, afterMs: number): Promise<Life> {
  const program = join(import.meta.dirname, "memory-life.child.ts");
  const child = spawn(process.execPath, [program, home, String(life), String(acknowledged)], {
    stdio: ["ignore", "pipe", "inherit"],
    env: { ...process.env, NODE_COMPILE_CACHE: join(home, "compiled") },
  });
  const ended = once(child, "exit");
  let [opened, lastRow, timesKept]: [Life["opened"], number, number] = [undefined, acknowledged, 0];
  let left = lines;
  for await (const line of createInterface({ input: child.stdout })) {
    const said = JSON.parse(line);
    if (said.type === "row") lastRow = said.seq;
    if (said.type === "kept") timesKept++;
    if (said.type === "opened") opened = said;
    if (left-- === 0) setTimeout(() => child.kill("SIGKILL"), afterMs);
  }
  const [code] = (await ended) as [number | null];
  return { opened, lastRow, timesKept, code };
}

const slotsOf = (hits: readonly { readonly slot: number }[]): readonly number[] => hits.map(({ slot }) => slot);

describe("a killed memory with a graph", () => {
  it(
    `opens ${LIVES} times with every acknowledged row, and searches as if never killed`,
    async () => {
      const home = await mkdtemp(join(tmpdir(), "goald-killed-"));
      const next = randomNumbers(11);
      let acknowledged = 0;
      let timesKept = 0;
      const bad: unknown[] = [];
      for (let number = 0; number < LIVES; number++) {
        const life = await live(home, number, acknowledged, Math.floor(next() * 10), next() * 30);
        // Null: it was killed. Any other code, or no output, means that it could not open.
        if (life.code !== null || life.opened?.missing !== 0 || !life.opened.same) bad.push({ number, ...life });
        acknowledged = life.lastRow;
        timesKept += life.timesKept;
      }
      expect(bad).toEqual([]);
      expect(acknowledged).toBeGreaterThan(LIVES);
      expect(timesKept).toBeGreaterThan(LIVES / 20);
      await rm(home, { recursive: true });
    },
    30_000 + LIVES * 3_000,
  );

  it("never uses files that the process of the graph had half written", async () => {
    const folder = await mkdtemp(join(tmpdir(), "goald-half-"));
    const vectors = clusteredVectors(3_000, 16, 20);
    const query = vectors[1_234] as Float32Array;
    const next = randomNumbers(3);
    for (let time = 0; time < 20; time++) {
      const index = openSettledGraph(16, { folder });
      for (const [slot, vector] of vectors.entries()) if (slot % 20 <= time) await index.add(slot, vector);
      const plain = plainIndex(16);
      for (const [slot, vector] of vectors.entries()) if (slot % 20 <= time) await plain.add(slot, vector);
      expect(slotsOf(await index.search(query, 3))).toEqual(slotsOf(await plain.search(query, 3)));
      const pid = index.keeper.pid as number;
      const closing = index.close();
      await sleep(next() * 15);
      try {
        process.kill(pid, "SIGKILL");
      } catch {
        // It had ended already.
      }
      await closing;
      expect(index.reports.filter((report) => /deleted/.test(report))).toEqual([]);
    }
    await rm(folder, { recursive: true });
  }, 120_000);
});
