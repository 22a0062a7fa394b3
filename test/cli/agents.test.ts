import { stripVTControlCharacters } from "node:util";
import { describe, expect, it } from "@jest/globals";
import type { CommandCall } from "#core/call.ts";
import { makeDaemonHome } from "../helpers/daemon-home.ts";
import { endedWith, lookInto } from "../helpers/goald.ts";

const AGENT = ["--name", "T", "--role", "r", "--goal", "g"];
const ASK: CommandCall = { name: "ask_user", args: { question: "Red or blue?" } };

describe("a question to the person", () => {
  it("is asked and answered on the terminal", async () => {
    await using home = await makeDaemonHome([ASK]);
    const terminal = home.goald.openTerminal(["run", ...AGENT, "--continuous"]);
    await terminal.see("It asks: Red or blue?");
    await terminal.answer("Your answer: ", "Blue, please.");
    const { stdout } = endedWith(0, await terminal.ended);
    expect(stripVTControlCharacters(stdout)).toContain("Result (ok): Blue, please.");
    expect(JSON.stringify((await lookInto(home.goald)).log)).toContain('"source":"person","status":"ok"');
  });

  it("shows no key, even if control characters split it", async () => {
    const question = "Is it ghp_planted\x1b[0mPLANTED1234567890abcdefghijk?";
    await using home = await makeDaemonHome([{ ...ASK, args: { question } }]);
    const terminal = home.goald.openTerminal(["run", ...AGENT, "--continuous"]);
    await terminal.see("It asks: Is it [redacted]?");
    await terminal.answer("Your answer: ", "No.");
    expect(endedWith(0, await terminal.ended).stdout).not.toContain("ghp_plantedPLANTED");
  });

  it("ends an unwatched run with the exit code for a person, and an answer resumes it", async () => {
    await using home = await makeDaemonHome([ASK]);
    const { goald } = home;
    const waiting = endedWith(11, await goald.ask(["run", ...AGENT, "--continuous"]));
    expect(waiting.stdout).toMatch(/Answer with: .*say t "…"/);
    expect(endedWith(11, await goald.ask(["resume", "t"])).stdout).toMatch(/Answer with: .*say t "…"/);
    endedWith(0, await goald.ask(["say", "t", "Blue."]));
    endedWith(0, await goald.ask(["resume", "t"]));
    const { log } = await lookInto(goald);
    expect(log.filter(({ type }) => type === "command-finished")).toMatchObject([
      { observation: { source: "person", text: "Blue." } },
      { closesTurn: true },
    ]);
  });
});
