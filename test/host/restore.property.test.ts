import { describe, it } from "@jest/globals";
import fc from "fast-check";
import { acts, liveThrough } from "../helpers/restored-agent.ts";
import { cases } from "../helpers/waits.ts";

describe("random steps, edits, clones and restorations", () => {
  it("lead to the files as they were after the step, touch no clone that stands there, and lose no edit", () =>
    fc.assert(fc.asyncProperty(acts, liveThrough), { seed: 23, numRuns: cases(15) }));
});
