import { describe, it } from "@jest/globals";
import { playRounds } from "./daemon-rounds.ts";

describe("thirty rounds of kill -9 and six simultaneous starts", () => {
  it("never leave two daemons or none", () => playRounds(30), 600_000);
});
