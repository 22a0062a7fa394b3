/**
 * test-security.ts -- runs the tests that test/security/list.ts names, and prints each row with its result.
 *
 * With a text, only rows whose id contains it. The exit code is 1 when a test failed, or when a row has a test that did
 * not run, also because the machine has no bubblewrap.
 */
import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";
import { findLevelsHere } from "../test/helpers/cage-levels.ts";
import { type Defence, judgeProof, patternOf, type TestResult } from "../test/security/defence.ts";
import { AREAS, DEFENCES } from "../test/security/list.ts";

/** Results of the tests that ran, by file. */
function runTests(files: readonly string[], titles: readonly string[]): ReadonlyMap<string, readonly TestResult[]> {
  const folder = mkdtempSync(join(tmpdir(), "goald-security-"));
  const output = join(folder, "results.json");
  try {
    spawnSync(
      process.execPath,
      [
        "--experimental-vm-modules",
        "--disable-warning=ExperimentalWarning",
        "node_modules/jest/bin/jest.js",
        ...["--silent", "--json", "--outputFile", output, "--testTimeout", "180000"],
        ...["--testMatch", "<rootDir>/test/**/*.{test,long}.ts", "--testNamePattern", titles.join("|")],
        ...["--runTestsByPath", ...files],
      ],
      { stdio: ["ignore", "ignore", "inherit"] },
    );
    const { testResults } = JSON.parse(readFileSync(output, "utf8")) as {
      testResults: readonly { readonly name: string; readonly assertionResults: readonly TestResult[] }[];
    };
    return new Map(testResults.map(({ name, assertionResults }) => [relative("", name), assertionResults]));
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

const [, , wanted = ""] = process.argv;
const isWanted = ({ id }: Defence): boolean => id.toLowerCase().includes(wanted.toLowerCase());
const asked = DEFENCES.filter(isWanted);
if (asked.length === 0) {
  console.error(`No row has ${JSON.stringify(wanted)} in its id.`);
  process.exit(1);
}
const results = runTests(
  [...new Set(asked.flatMap(({ proofs }) => proofs.map(({ file }) => file)))],
  [...new Set(asked.flatMap(({ proofs }) => proofs.map(patternOf)))],
);

const hasStrictCage = findLevelsHere().includes("strict");

function printRow({ id, claim, proofs }: Defence): boolean {
  const judged = proofs.map((one) => ({ ...one, ...judgeProof(one, results.get(one.file) ?? [], hasStrictCage) }));
  const isGood = judged.length > 0 && judged.every((one) => one.isGood);
  console.log(`${isGood ? "✓" : "✗"} ${id}: ${claim}`);
  for (const { file, title, text } of judged) console.log(`    ${text.padEnd(11)} ${file}: ${title}`);
  return isGood;
}

let bad = 0;
for (const [area, rows] of Object.entries(AREAS)) {
  const shown = rows.filter(isWanted);
  if (shown.length > 0) console.log(`\n${area}\n`);
  for (const row of shown) if (!printRow(row)) bad++;
}
console.log(`\n${asked.length} rows, ${bad} without a full proof.`);
process.exitCode = bad === 0 ? 0 : 1;
