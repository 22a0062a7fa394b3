import { it } from "@jest/globals";
import fc from "fast-check";
import { acts, liveThrough } from "../helpers/restored-agent.ts";
import { cases } from "../helpers/waits.ts";

it("steps, edits, clones and restorations lead to the files of the step, and lose no clone and no edit", () =>
  fc.assert(fc.asyncProperty(acts, liveThrough), { seed: 24, numRuns: cases(500) }));
