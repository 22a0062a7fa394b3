import { describe, it } from "@jest/globals";
import fc from "fast-check";
import { acts, liveThrough } from "../helpers/restore-rounds.ts";
import { cases } from "../helpers/rounds.ts";

describe("random steps, edits, clones and restorations", () => {
  it("lead to the folder as it was after the step, back by an undo, and there again by one more", () =>
    fc.assert(fc.asyncProperty(acts, liveThrough), { seed: 23, numRuns: cases(15) }));
});
