import { mkdir, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { findProgram } from "#util/find-program.ts";
import { type DaemonHome, makeDaemonHome } from "../helpers/daemon-home.ts";
import { endedWith, jsonOf, linesOf } from "../helpers/goald.ts";
import { write } from "../helpers/numbered-model.ts";

const LONG = `assert open('a.md').read() == 'A' # ${"x".repeat(300)}`;
const checked = (...checks: readonly string[]): string =>
  `ai_name: T\nai_role: r\nai_goals: [Write a.md]\nai_checks:\n${checks.map((check) => `  - ${check}\n`).join("")}`;
const TWO = '{python: "\\nopen(\\"a.md\\")\\nimport os"}';
const AGENT = checked("{file: a.md, contains: A}", TWO, `{python: ${JSON.stringify(LONG)}}`);
const OTHER = checked('{python: "import os\\u001b[2J\\nos.system(\\"id\\")"}', '{python: "import os"}');
const FROM = ["run", "--from", "agent.yaml"];

describe("an agent file of a stranger whose checks are programs, on a machine without bubblewrap", () => {
  let home: DaemonHome;
  let env: { readonly PATH: string };
  const ask = (...args: readonly string[]) => home.goald.run(args, { env });
  beforeAll(async () => {
    home = await makeDaemonHome([write("a.md", "A")]);
    const { cwd } = home.goald;
    env = { PATH: join(cwd, "bin") };
    await mkdir(env.PATH);
    for (const name of ["prlimit", "setpriv", "sh", "script"])
      await symlink(findProgram(name, process.env.PATH ?? "") ?? "", join(env.PATH, name));
    await writeFile(join(cwd, "agent.yaml"), AGENT);
    await writeFile(join(cwd, "other.yaml"), OTHER);
  });
  afterAll(async () => home[Symbol.asyncDispose]());

  it("asks once before they run, shows all of their code, and ends after the yes", async () => {
    const { stderr } = endedWith(11, await ask(...FROM, "--wait", "--approve", "risky"));
    expect(stderr).toContain('agent.yaml: check of goal 1: a.md contains "A"\n');
    expect(stderr).toContain('agent.yaml: check of goal 1: python: open("a.md") import os\n');
    expect(stderr).toContain(`agent.yaml: check of goal 1: python: ${LONG.slice(0, 100)}`);
    expect(stderr).not.toContain(LONG);
    const shown = endedWith(0, await ask("show", "t")).stdout;
    expect(shown).toContain('Wants:      check_goals {"goals":[0]}\n');
    expect(shown).toContain("The code that would run (Python, 5 lines):");
    for (const line of ['open("a.md")', "import os", LONG]) expect(shown).toContain(line);
    expect(shown).toContain(
      "It runs code that only goald's own checks hold. bubblewrap is not installed. It is the code of checks from an agent file.",
    );
    expect(jsonOf(await ask("show", "t", "--json"))).toMatchObject({
      checks: [{ isPassed: null }, { isPassed: null }, { isPassed: null }],
      waiting: { code: { file: null, text: expect.stringContaining(LONG) } },
    });
    endedWith(0, await ask("approve", "t", "--yes"));
    await home.logged("turn-finished");
    expect(jsonOf(await ask("show", "t", "--json"))).toMatchObject({
      checks: [{ isPassed: true }, { isPassed: true }, { isPassed: true }],
    });
  });

  it("runs them without a question where nothing asks, as run_code does, and replays that", async () => {
    const args = [...FROM, "--name", "N", "--continuous", "--record", "n.ndjson", "--json"];
    const ended = endedWith(0, await ask(...args));
    expect(linesOf(ended).at(-1)).toMatchObject({ outcome: "completed", checks: { passed: 3, failed: 0, notRun: 0 } });
    const played = endedWith(0, await ask("replay", "n.ndjson", "--json"));
    expect(linesOf(played).at(-1)).toMatchObject({ same: true, problems: [] });
  });

  it("shows them before the question at the terminal, and a no leaves them unrun", async () => {
    const run = ["run", "--from", "other.yaml", "--name", "P", "--approve", "risky"];
    const terminal = home.goald.openTerminal(run, { env });
    await terminal.see("other.yaml: check of goal 1: python: import os");
    await terminal.see("It is the code of checks from an agent file.");
    await terminal.see("The code that would run (Python, ");
    await terminal.see('os.system("id")');
    await terminal.answer("Run it?", "n");
    const { stdout } = await terminal.ended;
    expect(stdout).toContain("Checks: 2 not run.");
    expect(stdout).not.toContain("\u001b[2J");
  });
});
