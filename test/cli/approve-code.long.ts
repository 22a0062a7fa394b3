import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { type DaemonHome, makeDaemonHome } from "../helpers/daemon-home.ts";
import { endedWith, jsonOf } from "../helpers/goald.ts";
import { write } from "../helpers/numbered-model.ts";

/** Longer than what a command shows of its arguments. */
const CODE = Array.from({ length: 60 }, (_, at) => `total_${at + 1} = ${at + 1}`).join("\n");
const LONG = Array.from({ length: 700 }, (_, at) => `print(${at + 1})`).join("\n");

describe("code that waits for a person", () => {
  let home: DaemonHome;
  beforeAll(async () => {
    home = await makeDaemonHome([
      { name: "run_code", args: { code: CODE } },
      write("long.py", LONG),
      { name: "execute_python_file", args: { file: "long.py" } },
    ]);
    const agent = ["--name", "T", "--role", "r", "--goal", "g", "--approve", "always"];
    endedWith(0, await home.goald.ask(["run", "-d", ...agent]));
    await home.logged("approval-asked");
  });
  afterAll(async () => {
    await home[Symbol.asyncDispose]();
  });

  it("is shown whole, with line numbers, before the answer and by goald show", async () => {
    const { goald } = home;
    const shown = endedWith(0, await goald.ask(["show", "t"])).stdout;
    expect(shown).toContain("Wants:      run_code {}");
    expect(shown).toContain("The code that would run (Python, 60 lines):");
    for (const line of CODE.split("\n")) expect(shown).toContain(`| ${line}\n`);
    expect(jsonOf(await goald.ask(["show", "t", "--json"]))).toMatchObject({
      waiting: { code: { file: null, text: CODE } },
    });
    const approve = goald.openTerminal(["approve", "t"]);
    await approve.see("60 | total_60 = 60");
    await approve.answer("Approve it?", "n");
    expect((await approve.ended).stdout).not.toContain("more lines");
  });

  it("is the file that would run; of more than 500 lines goald show has the rest", async () => {
    const { goald } = home;
    endedWith(0, await goald.ask(["deny", "t", "write it into a file"]));
    await home.logged("approval-asked", 2);
    endedWith(0, await goald.ask(["approve", "t", "--yes"]));
    await home.logged("approval-asked", 3);
    const approve = goald.openTerminal(["approve", "t"]);
    await approve.see('The code that would run of "long.py" (Python, 700 lines, sha256');
    await approve.see("500 | print(500)");
    await approve.see("200 more lines");
    await approve.see("All of the code: goald show t");
    await approve.answer("Approve it?", "n");
    await approve.ended;
    const shown = endedWith(0, await goald.ask(["show", "t"])).stdout;
    expect(shown).toContain("700 | print(700)");
  });
});
