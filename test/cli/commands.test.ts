import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { describe, expect, it } from "@jest/globals";
import { findLevelsHere } from "../helpers/cage-levels.ts";
import { endedWith, errorOf, makeGoald } from "../helpers/goald.ts";

interface Line {
  readonly name: string;
  readonly state: string;
  readonly toDo: readonly string[];
  readonly origin: string;
}

describe("goald commands", () => {
  it("lists the commands of agents, and the missing settings of the others", async () => {
    await using goald = await makeGoald({ GOALD_SANDBOX_ISOLATION: "off" });
    const { stdout } = endedWith(0, await goald.ask(["commands", "--json"]));
    const lines = (JSON.parse(stdout) as { readonly commands: readonly Line[] }).commands;
    expect(lines.find(({ name }) => name === "write_to_file")).toMatchObject({ state: "ready", toDo: [] });
    const waiting = lines.find(({ name }) => name === "execute_python_file");
    expect(waiting).toMatchObject({
      state: "not-set-up",
      toDo: [expect.stringContaining("sandbox")],
      origin: "shipped",
    });

    await goald.write("commands/mine.js", 'export default { name: "mine", summary: "Mine.", run: () => "mine" };');
    expect(JSON.parse(endedWith(0, await goald.ask(["commands", "mine", "--json"])).stdout)).toMatchObject({
      origin: "home",
      effect: "at-most-once",
    });

    const table = endedWith(0, await goald.ask(["commands"])).stdout;
    expect(table).toMatch(/^execute_python_file +not set up +file /m);
    expect(table).toContain("  execute_python_file: Set GOALD_SANDBOX_ISOLATION to best-effort or required");
    expect(table).not.toContain("save_files");
  });

  it("shows how code is judged: as a file where the sandbox is strict, with a question elsewhere", async () => {
    await using goald = await makeGoald();
    const [level] = findLevelsHere();
    for (const name of ["run_code", "execute_python_file"]) {
      const shown = JSON.parse(endedWith(0, await goald.ask(["commands", name, "--json"])).stdout);
      expect(shown).toMatchObject({
        state: "ready",
        group: "code",
        effect: "transactional",
        risk: level === "strict" ? "restorable" : "asks first",
      });
    }
    // Without bubblewrap on its path.
    const bare = await goald.run(["commands", "run_code", "--json"], { env: { PATH: "/nonexistent" } });
    expect(JSON.parse(endedWith(0, bare).stdout)).toMatchObject({ risk: "asks first" });
    const required = { env: { PATH: "/nonexistent", GOALD_SANDBOX_ISOLATION: "required" } };
    expect(
      JSON.parse(endedWith(0, await goald.run(["commands", "run_code", "--json"], required)).stdout),
    ).toMatchObject({
      state: "not-set-up",
      toDo: [expect.stringContaining("sandbox.isolation is required")],
    });
  });

  it("shows one command in full, and lists the others for an unknown name (exit 3)", async () => {
    await using goald = await makeGoald();
    const { stdout } = endedWith(0, await goald.ask(["commands", "append_to_file"]));
    expect(stdout).toMatch(/Arguments:\n {2}file: string\. .*\n {2}text: string/);
    expect(stdout).toContain("After a crash: checks whether its effect happened");
    const { stderr } = endedWith(3, await goald.ask(["commands", "googel"]));
    expect(stderr).toMatch(/no command "googel".*\n.*write_to_file, read_file/);
  });

  it("reports file, line and reason for an invalid command of the home (exit 2)", async () => {
    await using goald = await makeGoald();
    await goald.write(
      "commands/post_note.ts",
      "export default {\n  name: 'post_note',\n  summary: 3,\n  run() {},\n};",
    );
    expect(errorOf(endedWith(2, await goald.ask(["commands", "--json"])))).toMatchObject({
      code: "GOALD_COMMAND_INVALID",
      message: expect.stringMatching(
        /post_note\.ts is not a valid command: line 3: expected summary: one line of text.*got 3\.$/,
      ),
    });
  });

  it.each([
    ["a.ts", "export default {\n  run( {\n};", 3],
    ["a.js", "export default {\n  run( {\n};", 3],
    ["a.ts", "const a = 1;\nenum B { c }\nexport default {};", 2],
    ["a.mjs", "const a = undefined;\n\na.b();\nexport default {};", 3],
  ])("reports only where a file cannot be loaded: %s %j", async (file, text, line) => {
    await using goald = await makeGoald();
    await goald.write(`commands/${file}`, text);
    const { stderr } = endedWith(2, await goald.ask(["commands"]));
    expect(stderr).toContain(`${file}:${line} could not be loaded`);
    expect(stderr).not.toContain("Warning");
  });
});

describe("goald commands NAME --new", () => {
  it("writes a command that works unchanged, with a test that passes", async () => {
    await using goald = await makeGoald();
    const made = JSON.parse(endedWith(0, await goald.ask(["commands", "count_words", "--json", "--new"])).stdout) as {
      readonly test: string;
    };
    const { stdout } = await promisify(execFile)(process.execPath, ["--test", "--test-reporter=tap", made.test]);
    expect(stdout).toMatch(/# pass 2\n# fail 0/);
    expect(endedWith(0, await goald.ask(["commands", "count_words"])).stdout).toMatch(/Risk: none/);
  });

  it("overwrites nothing (exit 7), and accepts only valid command names (exit 2)", async () => {
    await using goald = await makeGoald();
    await goald.write("commands/mine.test.ts", "// mine");
    expect(endedWith(7, await goald.ask(["commands", "mine", "--new"])).stderr).toContain("was not changed");
    expect(await goald.read("commands/mine.test.ts")).toBe("// mine");
    expect(endedWith(0, await goald.ask(["commands", "--json"])).stdout).not.toContain('"mine"');
    expect(endedWith(2, await goald.ask(["commands", "Mine!", "--new"])).stderr).toContain("lower-case letters");
    expect(endedWith(2, await goald.ask(["new", "command", "x"])).stderr).toContain("goald commands NAME --new");
  });
});
