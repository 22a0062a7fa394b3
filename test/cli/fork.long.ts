import { describe, expect, it } from "@jest/globals";
import { makeDaemonHome } from "../helpers/daemon-home.ts";
import { endedWith, linesOf, lookInto } from "../helpers/goald.ts";
import { append, ledgerText, write } from "../helpers/numbered-model.ts";

const CALLS = [append("line 1\n"), write("other.txt", "first\n"), append("line 2\n"), write("other.txt", "second\n")];

describe("goald fork", () => {
  it("runs in the host, if there is one, while the original is at work", async () => {
    await using home = await makeDaemonHome(CALLS);
    home.holdFrom(4);
    endedWith(0, await home.goald.ask(["run", "-d", "--name", "T", "--role", "r", "--goal", "g"]));
    await home.asked(4);
    const [line] = linesOf(endedWith(0, await home.goald.ask(["fork", "t", "--step", "2", "--json"])));
    expect(line).toMatchObject({ agent: "t-2", from: "t", step: 2, files: 2 });
    expect(await home.goald.read("workspace/t-2/ledger.txt")).toBe(ledgerText(1));
    expect(await home.goald.read("workspace/t-2/other.txt")).toBe("first\n");
    const { stderr } = endedWith(3, await home.goald.ask(["fork", "t", "--step", "99"]));
    expect(stderr).toContain("it has taken 4 steps");
    home.release();
    await home.logged("turn-finished");
    expect((await lookInto(home.goald, "t-2")).problems).toEqual([]);
  });
});
