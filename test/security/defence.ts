/**
 * defence.ts -- one row of what goald defends: an id, a claim, and the tests that prove it.
 *
 * `npm run test:security` runs the tests of all rows, `npm run docs` writes them into SECURITY.md, and list.test.ts
 * fails when a test was renamed.
 */
export interface Defence {
  /** An advisory, a failure of the review, or an area. */
  readonly id: string;
  /** One sentence, for SECURITY.md. */
  readonly claim: string;
  readonly proofs: readonly Proof[];
}

export interface Proof {
  readonly file: string;
  /** A part of the test's full title, as the source has it. Placeholders such as `%s` stand for any text. */
  readonly title: string;
  /** The file that has the title, when `file` takes it from there. */
  readonly from?: string;
  /** The test exists only on a machine with a strict cage. */
  readonly needsBubblewrap?: true;
}

export const proof = (file: string, title: string, from?: string): Proof => ({
  file: `test/${file}.ts`,
  title,
  ...(from === undefined ? {} : { from: `test/${from}.ts` }),
});

/** Returns the source of an expression that the full titles of this proof's tests contain. */
export const patternOf = ({ title }: Pick<Proof, "title">): string =>
  title.replaceAll(/[\\^$.*+?()[\]{}|/]/g, "\\$&").replaceAll(/%(\\\.\d+)?[sdijfop]|\\\$\w+/g, ".*");

export const withBubblewrap = (one: Proof): Proof => ({ ...one, needsBubblewrap: true });

export interface TestResult {
  readonly fullName: string;
  readonly status: "passed" | "failed" | "pending" | "skipped" | "todo" | "disabled";
}

/** What came of a proof. `tests`: all of its file. */
export function judgeProof(one: Proof, tests: readonly TestResult[], hasStrictCage: boolean) {
  const pattern = new RegExp(patternOf(one));
  const statuses = tests.filter(({ fullName }) => pattern.test(fullName)).map(({ status }) => status);
  const passed = statuses.filter((status) => status === "passed").length;
  const failed = statuses.filter((status) => status === "failed").length;
  if (failed > 0) return { isGood: false, text: `${failed} of ${failed + passed} failed` };
  if (passed > 0) return { isGood: true, text: `${passed} passed` };
  const isSkipped = one.needsBubblewrap === true && !hasStrictCage;
  return { isGood: false, text: isSkipped ? "skipped: needs bubblewrap" : "did not run" };
}
