import { expect, it } from "@jest/globals";
import { keepNewest } from "#util/newest.ts";

it("keepNewest deletes the oldest entries, and a repeated key counts as new", () => {
  const map = new Map<string, number>();
  for (const [at, key] of ["a", "b", "a", "c", "d"].entries()) keepNewest(map, key, at, 3);
  expect([...map]).toEqual([
    ["a", 2],
    ["c", 3],
    ["d", 4],
  ]);
});
