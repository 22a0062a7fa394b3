import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { type DaemonHome, makeDaemonHome } from "../helpers/daemon-home.ts";
import { endedWith, errorOf, jsonOf, linesOf, lookInto } from "../helpers/goald.ts";
import { ledger, ledgerText, onceATurn } from "../helpers/numbered-model.ts";

const again = (...more: readonly string[]): readonly string[] => ["run", "--continue", "t", ...more];

describe("goald run --continue", () => {
  let home: DaemonHome;
  beforeAll(async () => {
    home = await makeDaemonHome([], { reply: onceATurn(ledger(1)) });
    const first = ["run", "--name", "T", "-g", "Find strings", "--continuous", "--max-steps", "2"];
    endedWith(0, await home.goald.ask(first));
  });
  afterAll(async () => home[Symbol.asyncDispose]());

  it.each<[args: readonly string[], code: number, message: RegExp, hint: RegExp]>([
    [
      again(),
      2,
      /new goals, and none was given/,
      /goald run --continue t -g "…"[\s\S]*goald say t "…"[\s\S]*goald resume t$/,
    ],
    [again("-g", "x", "--role", "r"), 2, /keeps the agent's name and role/, /leave --continue out for a new agent/],
    [again("-g", "\u0007"), 2, /must be text without control characters/, /^$/],
    [again(..."abcdef".split("").flatMap((goal) => ["-g", goal])), 2, /up to 5 goals, got 6/, /^$/],
    [["run", "--continue", "nobody", "-g", "x"], 3, /found none called "nobody"/, /There are: t\./],
    [again("-g", "x", "--approve", "always"), 2, /There is no terminal to ask on/, /--continuous/],
  ])("rejects an invalid call, and the agent stays as it is: %j", async (args, code, message, hint) => {
    const ended = endedWith(code, await home.goald.ask([...args, "--json"]));
    expect(errorOf(ended)).toMatchObject({
      message: expect.stringMatching(message),
      hint: expect.stringMatching(hint),
    });
    expect((await lookInto(home.goald)).log.at(-1)).toMatchObject({ type: "turn-finished" });
  });

  it("follows the next turn to its end, with the settings of the agent and more steps than its limit had left", async () => {
    const { goald, server } = home;
    const before = server.chats.length;
    const lines = linesOf(endedWith(0, await goald.ask(again("Write it down", "--json"))));
    expect(lines.at(-1)).toMatchObject({ type: "result", agent: "t", outcome: "completed", exitCode: 0 });
    const { log, problems } = await lookInto(goald);
    expect(problems).toEqual([]);
    expect(log.filter(({ type }) => type === "turn-started")).toMatchObject([{ turn: 2 }]);
    expect(log.findLast(({ type }) => type === "goals-changed")).toMatchObject({ goals: ["Write it down"] });
    expect(server.chats[before]?.messages[0]?.content).toContain("1. Write it down\n");
    expect(await goald.read("workspace/t/ledger.txt")).toBe(ledgerText(1) + ledgerText(1));
    // The agent stays in front.
    expect(jsonOf(await goald.ask(["show", "t", "--json"]))).toMatchObject({ background: false });
  });

  it("refuses another turn while one is not finished, and says what to do", async () => {
    const { goald } = home;
    endedWith(6, await goald.ask(again("-g", "Print it", "--max-steps", "1")));
    const refused = errorOf(endedWith(7, await goald.ask(again("-g", "More", "--json"))));
    expect(refused).toMatchObject({
      code: "GOALD_CONFLICT",
      message: "t has not finished turn 3, so its next turn cannot begin.",
      hint: expect.stringMatching(/goald resume t\n.*goald goals t --set "…".*goald say t "…"$/),
    });
    endedWith(0, await goald.ask(["resume", "t", "--json"]));
  });
});
