/**
 * room.ts -- checks one folder of src: types and laws of the whole project, and lint and tests of src/NAME and test/NAME.
 *
 * The compiler keeps its results in node_modules/.cache and checks again what changed since.
 * The exit code is 1 when one of the three failed, and 2 when src has no such folder.
 */
import { execFile } from "node:child_process";
import { existsSync, readdirSync } from "node:fs";

const CACHE = "node_modules/.cache/room.tsbuildinfo";

/** Resolves with whether the program ended well. What it printed is shown at its end, in one piece. */
function runProgram(title: string, args: readonly string[]): Promise<boolean> {
  const started = performance.now();
  return new Promise((resolve) => {
    execFile(process.execPath, args, { maxBuffer: Number.POSITIVE_INFINITY }, (error, stdout, stderr) => {
      const took = `${((performance.now() - started) / 1_000).toFixed(1)} s`;
      console.log(`${(stdout + stderr).trim()}\n${error ? "✗" : "✓"} ${title}, ${took}`.trimStart());
      resolve(!error);
    });
  });
}

const [, , room = ""] = process.argv;
const rooms = readdirSync("src", { withFileTypes: true }).flatMap((entry) => (entry.isDirectory() ? [entry.name] : []));
if (!rooms.includes(room)) {
  console.error(`src has no room ${JSON.stringify(room)}. Its rooms are: ${rooms.join(", ")}.`);
  console.error("Name one of them: npm run room memory");
  process.exit(2);
}
const folders = [`src/${room}`, `test/${room}`, ...(room === "commands" ? ["commands"] : [])].filter(existsSync);
const results = await Promise.all([
  runProgram("types", ["node_modules/typescript/bin/tsc", "--incremental", "--tsBuildInfoFile", CACHE]),
  runProgram("lint", ["node_modules/@biomejs/biome/bin/biome", "check", "--error-on-warnings", ...folders]),
  runProgram("tests", [
    ...["--experimental-vm-modules", "--disable-warning=ExperimentalWarning", "node_modules/jest/bin/jest.js"],
    ...[`test/${room}/`, "test/architecture", "test/docs"],
  ]),
]);
process.exitCode = results.every(Boolean) ? 0 : 1;
