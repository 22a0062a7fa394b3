/**
 * record-demo.ts -- records the cells of code in config/demo/script.json anew, in the sandbox of this machine.
 *
 *   node scripts/record-demo.ts
 *
 * Call it after a change of the demo's code, or of what a cell asks its host for. The rest of the script stays as it is.
 */
import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const SCRIPT = fileURLToPath(new URL("../config/demo/script.json", import.meta.url));
const GOALD = fileURLToPath(new URL("../src/goald.js", import.meta.url));

const script = JSON.parse(readFileSync(SCRIPT, "utf8")) as object;
const write = (cells: readonly unknown[]): void =>
  writeFileSync(SCRIPT, `${JSON.stringify({ ...script, cells }, null, 2)}\n`);
const home = mkdtempSync(join(tmpdir(), "goald-record-demo-"));
try {
  // Without recorded cells the demo runs the code.
  write([]);
  const recorded = join(home, "demo.ndjson");
  const { status } = spawnSync(process.execPath, [GOALD, "demo", "--home", home, "--record", recorded], {
    stdio: ["ignore", "ignore", "inherit"],
  });
  if (status !== 0) throw new Error(`The demo ended with exit code ${status}.`);
  const lines = readFileSync(recorded, "utf8").split("\n").filter(Boolean);
  const cells = lines.map((line) => JSON.parse(line) as { readonly type?: string });
  const kept = cells.filter(({ type }) => type === "cell-ask" || type === "cell-end");
  write(kept);
  console.log(`${kept.length} lines of cells in ${SCRIPT}. Format it: npx biome check --write config/demo`);
} finally {
  rmSync(home, { recursive: true, force: true });
}
