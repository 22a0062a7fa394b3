/** use-desk.ts -- apart from context.ts, which processes without jest use too. */
import { afterEach, beforeEach } from "@jest/globals";
import { type Desk, makeDesk } from "./context.ts";

/** Gives each test a new desk, which goes after it. */
export function useDesk(): Desk {
  const desk = {} as Desk;
  beforeEach(async () => {
    Object.assign(desk, await makeDesk());
  });
  afterEach(async () => desk[Symbol.asyncDispose]());
  return desk;
}
