import { expect, it } from "@jest/globals";
import { cloneWhileSwapped } from "../helpers/swapped-clone.ts";

const ROUNDS = 200;

it("a clone reads, writes and runs nothing outside while the folder above is swapped for a link", async () => {
  const { cloned, refused, swaps, ...outside } = await cloneWhileSwapped(6);
  expect(outside).toEqual({ hasRun: false, changed: [], read: [] });
  expect(swaps).toBeGreaterThan(20);
  expect(cloned + refused.length).toBeGreaterThanOrEqual(6);
});

it("200 clones read, write and run nothing outside while the folder above is swapped for a link", async () => {
  const { cloned, refused, swaps, ...outside } = await cloneWhileSwapped(ROUNDS);
  expect(outside).toEqual({ hasRun: false, changed: [], read: [] });
  expect(swaps).toBeGreaterThan(10 * ROUNDS);
  // Both happen: clones that end in the folder, and clones that meet the link.
  expect(cloned).toBeGreaterThan(0);
  expect(refused).toContain("GOALD_PATH_REFUSED");
  console.log(`${cloned} cloned, ${refused.length} refused, ${swaps} swaps`);
}, 600_000);
