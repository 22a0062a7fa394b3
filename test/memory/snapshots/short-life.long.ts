import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, it } from "@jest/globals";
import { RandomLife } from "./random-life.ts";

const folder = mkdtempSync(join(tmpdir(), "goald-life-"));
afterAll(() => rmSync(folder, { recursive: true }));
const newFolder = (): string => mkdtempSync(join(folder, "life-"));

it.each([27, 28])(
  "a memory recalls the same with and without its snapshot, whatever happens to both (seed %i)",
  async (seed) => {
    const counts = await new RandomLife(newFolder(), seed).live(60);
    expect(counts.restored).toBeGreaterThan(3);
    expect(counts.refused).toBeGreaterThan(0);
  },
);

it("sees a snapshot that is newer than a restored store and used all the same (negative control)", async () => {
  const careless = new RandomLife(newFolder(), 29, { trustsAnyVersion: true });
  await expect(careless.live(60)).rejects.toThrow("usesFile");
});
