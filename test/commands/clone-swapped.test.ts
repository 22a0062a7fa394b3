import { expect, it } from "@jest/globals";
import { cloneWhileSwapped } from "../helpers/swapped-clone.ts";

it("a clone reads, writes and runs nothing outside while the folder above is swapped for a link", async () => {
  const { cloned, refused, swaps, ...outside } = await cloneWhileSwapped(6);
  expect(outside).toEqual({ hasRun: false, changed: [], read: [] });
  expect(swaps).toBeGreaterThan(20);
  expect(cloned + refused.length).toBeGreaterThanOrEqual(6);
});
