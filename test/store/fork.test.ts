import { expect, it } from "@jest/globals";
import { highestEpoch } from "#store/fork.ts";
import { said, stamped } from "../contracts/store-builders.ts";
import { asked } from "../helpers/events.ts";

it("finds the highest epoch of a long log, and at least the given one", () => {
  const [word, question] = stamped(1, said("x"), { ...asked(), epoch: 7 });
  if (!word || !question) throw new Error("Expected two events.");
  const log = Array.from({ length: 300_000 }, (_, at) => (at === 5 ? question : word));
  expect([highestEpoch(log, 1), highestEpoch(log, 9), highestEpoch([], 2)]).toEqual([7, 9, 2]);
});
