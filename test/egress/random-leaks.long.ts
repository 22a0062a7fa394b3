import { expect, it } from "@jest/globals";
import { findMissedLeaks } from "../helpers/random-leaks.ts";

it("finds 600 random secrets in one encoding or two, whole or in two pieces", async () => {
  expect(await findMissedLeaks(600, 7)).toEqual([]);
});
