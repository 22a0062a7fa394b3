import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "@jest/globals";
import fc from "fast-check";
import { isGoaldError } from "#core/errors.ts";
import { cutRestorations } from "../helpers/restore-cuts.ts";
import { acts, liveThrough } from "../helpers/restore-rounds.ts";
import { RestoredAgent, readTree } from "../helpers/restored-agent.ts";
import { startSwapper } from "../helpers/swapped-clone.ts";

describe("many random steps, edits, clones and restorations", () => {
  it("lead to the folder as it was after the step, back by an undo, and there again by one more", () =>
    fc.assert(fc.asyncProperty(acts, liveThrough), { seed: 24, numRuns: 500 }));
});

cutRestorations("after");

describe("restorations while the folder above a clone is swapped for a link", () => {
  it("move nothing into the outside or out of it", async () => {
    await using agent = await RestoredAgent.make();
    const outside = join(agent.root, "outside");
    mkdirSync(join(outside, "plain/prepared"), { recursive: true });
    await agent.write("a.md", "a");
    await agent.clone("work/plain", { "inside.txt": "inside" });
    const before = readTree(outside);
    const codes = new Set<string>();
    let done = 0;
    {
      await using swapper = await startSwapper(agent.folder, outside);
      for (let round = 0; round < 300; round++) {
        const ended = await (round % 2 === 0 ? agent.restore(1) : agent.restore(2)).catch((error: unknown) => error);
        if (isGoaldError(ended)) codes.add(ended.code);
        else if (Error.isError(ended)) throw ended;
        else done++;
      }
      expect(await swapper.end()).toBeGreaterThan(20);
    }
    expect(done).toBeGreaterThan(0);
    expect(readTree(outside)).toEqual(before);
    // A file that is in the workspace at one look may be behind the link at the next.
    for (const code of codes) expect(["GOALD_PATH_REFUSED", "GOALD_FILE", "GOALD_FILE_MISSING"]).toContain(code);
  });
});
