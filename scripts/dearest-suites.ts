/** dearest-suites.ts -- a reporter of jest that prints the ten suites which took longest, in seconds, at the end of a run. */
import { relative } from "node:path";

interface SuiteResult {
  readonly testFilePath: string;
  /** Milliseconds since 1970; `end` is 0 when the suite did not run. */
  readonly perfStats: { readonly start: number; readonly end: number };
}

export default class DearestSuites {
  onRunComplete(_contexts: unknown, { testResults }: { readonly testResults: readonly SuiteResult[] }): void {
    const timed = testResults
      .map(({ testFilePath, perfStats: { start, end } }) => ({ path: relative("", testFilePath), timeMs: end - start }))
      .filter(({ timeMs }) => timeMs > 0)
      .sort((a, b) => b.timeMs - a.timeMs)
      .slice(0, 10);
    const lines = timed.map(({ path, timeMs }) => `${(timeMs / 1_000).toFixed(1).padStart(7)} s  ${path}`);
    if (lines.length > 0) console.error(`\nThe ${lines.length} dearest suites:\n${lines.join("\n")}`);
  }
}
