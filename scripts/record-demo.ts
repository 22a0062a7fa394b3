/**
 * record-demo.ts -- records the cells of code in config/demo/recording.ndjson anew, in the sandbox of this machine.
 *
 *   node scripts/record-demo.ts
 *
 * Call it after a change of the demo's code, or of what a cell asks its host for. The other lines stay as they are.
 */
import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const RECORDING = fileURLToPath(new URL("../config/demo/recording.ndjson", import.meta.url));
const GOALD = fileURLToPath(new URL("../src/goald.js", import.meta.url));

interface DemoLine {
  readonly type?: string;
  readonly step?: number;
  readonly version?: string;
}
const readLines = (path: string): readonly string[] =>
  readFileSync(path, "utf8")
    .split("\n")
    .filter((line) => line !== "");
const parse = (line: string): DemoLine => JSON.parse(line) as DemoLine;
const isCell = ({ type }: DemoLine): boolean => type === "cell-ask" || type === "cell-end";

const kept = readLines(RECORDING).filter((line) => !isCell(parse(line)));
const home = mkdtempSync(join(tmpdir(), "goald-record-demo-"));
try {
  // Without recorded cells the demo runs the code.
  writeFileSync(RECORDING, `${kept.join("\n")}\n`);
  const recorded = join(home, "demo.ndjson");
  const { status } = spawnSync(process.execPath, [GOALD, "demo", "--home", home, "--record", recorded], {
    stdio: ["ignore", "ignore", "inherit"],
  });
  if (status !== 0) throw new Error(`The demo ended with exit code ${status}.`);
  const cells = readLines(recorded).filter((line) => isCell(parse(line)));
  // The cell of step 11 is c11: its lines follow those of the step.
  const stepOf = (line: string): number => Number(/^c(\d+)/.exec(parse(line).version ?? "")?.[1]);
  const whole = kept.flatMap((line, index) => {
    const { step } = parse(line);
    const isLast = step !== undefined && parse(kept[index + 1] ?? "{}").step !== step;
    return isLast ? [line, ...cells.filter((cell) => stepOf(cell) === step)] : [line];
  });
  writeFileSync(RECORDING, `${whole.join("\n")}\n`);
  console.log(`${cells.length} lines of cells in ${RECORDING}`);
} finally {
  rmSync(home, { recursive: true, force: true });
}
