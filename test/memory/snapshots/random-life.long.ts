import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, it } from "@jest/globals";
import { rounds } from "../../helpers/rounds.ts";
import { RandomLife } from "./random-life.ts";

const folder = mkdtempSync(join(tmpdir(), "goald-life-"));
afterAll(() => rmSync(folder, { recursive: true }));
const seeds = Array.from({ length: rounds(12) }, (_, at) => 100 + at);

it.each(seeds)("a memory recalls the same with and without its snapshot over a long life (seed %i)", async (seed) => {
  const counts = await new RandomLife(mkdtempSync(join(folder, "life-")), seed).live(500);
  expect(counts.restored).toBeGreaterThan(10);
});
