/** dearest-suites.ts -- a reporter of jest that prints the ten suites which took longest, in seconds, at the end of a run. */
import { relative } from "node:path";

interface SuiteResult {
  readonly testFilePath: string;
  /** Milliseconds; 0 when the suite did not run. */
  readonly perfStats: { readonly runtime: number };
}

export default class DearestSuites {
  onRunComplete(_contexts: unknown, { testResults }: { readonly testResults: readonly SuiteResult[] }): void {
    const timed = testResults
      .filter(({ perfStats }) => perfStats.runtime > 0)
      .sort((a, b) => b.perfStats.runtime - a.perfStats.runtime)
      .slice(0, 10);
    const lines = timed.map(
      ({ testFilePath, perfStats: { runtime } }) =>
        `${(runtime / 1_000).toFixed(1).padStart(7)} s  ${relative("", testFilePath)}`,
    );
    if (lines.length > 0) console.error(`\nThe ${lines.length} dearest suites:\n${lines.join("\n")}`);
  }
}
