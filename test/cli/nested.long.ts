import { describe, expect, it } from "@jest/globals";
import { inPool } from "../helpers/pool.ts";
import { findCommits, killAndResume } from "./nested-points.ts";

describe("kill -9 of the real process at every commit of a run with three levels", () => {
  it("writes every line once, in order, and repeats at most the model call that was lost", async () => {
    const commits = await findCommits();
    expect(commits.length).toBeGreaterThan(12);
    // Event 1 creates the agent; a kill before it leaves nothing to resume.
    const points = commits
      .filter((seq) => seq > 1)
      .flatMap((seq) => [[seq, "before"] as const, [seq, "after"] as const]);
    const repeated = await Promise.all(inPool(2, points, ([seq, when]) => killAndResume(seq, when)));
    expect(Math.max(...repeated)).toBe(1);
  });
});
