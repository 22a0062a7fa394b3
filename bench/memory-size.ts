/**
 * memory-size.ts -- measures main memory and time of an agent's memory: a store file, opened and asked in a new process.
 *
 *   node bench/memory-size.ts [--rows 10000,100000] [--rounds 3]
 *
 * Rows have about 400 characters, vectors are the offline ones. Figures are medians of the rounds. A missed target is
 * printed and does not fail the bench.
 */
import { execFile } from "node:child_process";
import { mkdtempDisposableSync, readdirSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs, promisify } from "node:util";
import { fillStore } from "./memory-size/fill.ts";
import type { SizeFigures } from "./memory-size/open.ts";
import { median } from "./shared/median.ts";
import { verdictOf } from "./shared/print.ts";

const TARGETS = { coldCpuMs: 1_500, stallMs: 20, rssAfterMb: 220, warmFifteenMs: 10 } as const;
const TARGET_ROWS = 100_000;

const { values } = parseArgs({
  options: { rows: { type: "string", default: "10000,100000" }, rounds: { type: "string", default: "3" } },
});
using root = mkdtempDisposableSync(join(tmpdir(), "goald-bench-"));
for (const rows of values.rows.split(",").map(Number)) await measureRows(rows, Number(values.rounds));

async function measureRows(rows: number, rounds: number): Promise<void> {
  const path = join(root.path, `${rows}.db`);
  await fillStore(path, rows);
  console.log(`\n${rows.toLocaleString("en-US")} rows, ${(statSync(path).size / 1e6).toFixed(0)} MB on disk`);
  await measureStart("without a snapshot", rows, rounds, () => openInChild(path));
  const snapshots = join(root.path, `${rows}`);
  await openInChild(path, snapshots);
  const bytes = readdirSync(snapshots).map((name) => statSync(join(snapshots, name)).size);
  const size = (bytes.reduce((sum, each) => sum + each, 0) / 1e6).toFixed(1);
  const figures = await measureStart(`with a snapshot of ${size} MB`, rows, rounds, () => openInChild(path, snapshots));
  if (rows !== TARGET_ROWS) return;
  for (const [key, most] of Object.entries(TARGETS) as [keyof SizeFigures, number][])
    console.log(
      `Target: ${key} at most ${most}. Measured: ${figures(key).toFixed(1)}, ${verdictOf(figures(key) <= most)}`,
    );
}

/** Returns the medians of the figures. */
async function measureStart(title: string, rows: number, rounds: number, open: () => Promise<SizeFigures>) {
  const measured: SizeFigures[] = [];
  for (let round = 0; round < rounds; round++) measured.push(await open());
  const of = (key: keyof SizeFigures): number => median(measured.map((figures) => figures[key]));
  const show = (key: keyof SizeFigures, digits = 0): string => of(key).toFixed(digits);
  console.log(`  ${title}`);
  console.log(`    open and first recall   ${show("coldCpuMs")} ms CPU, ${show("coldWallMs")} ms elapsed`);
  console.log(`    longest stall in it     ${show("stallMs", 1)} ms CPU`);
  console.log(`    RSS                     ${show("rssBeforeMb")} -> ${show("rssAfterMb")} MB`);
  console.log(
    `    in use after collection ${show("usedMb", 1)} MB, ${((of("usedMb") * 1e6) / rows).toFixed(0)} bytes a row`,
  );
  console.log(
    `    warm recall             ${show("warmOneMs", 2)} ms CPU for one text, ${show("warmFifteenMs", 2)} for fifteen`,
  );
  return of;
}

async function openInChild(...paths: readonly string[]): Promise<SizeFigures> {
  const script = join(import.meta.dirname, "memory-size/open.ts");
  const { stdout } = await promisify(execFile)(process.execPath, ["--no-warnings", script, ...paths]);
  return JSON.parse(stdout) as SizeFigures;
}
