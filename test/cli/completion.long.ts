import { execFileSync } from "node:child_process";
import { mkdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { openSqliteStore } from "#store/sqlite/open-store.ts";
import { SUMMARIES, VERB_NAMES } from "../../src/cli/verb-list.ts";
import { endedWith, errorOf, type Goald, makeGoald } from "../helpers/goald.ts";

const SHOWN = VERB_NAMES.filter((name) => SUMMARIES[name].group !== undefined);

let goald: Goald;
beforeAll(async () => {
  goald = await makeGoald();
  for (const shell of ["bash", "zsh", "fish"])
    await writeFile(join(goald.cwd, shell), endedWith(0, await goald.ask(["completion", shell])).stdout);
  await mkdir(join(goald.home, ".goald"), { recursive: true, mode: 0o700 });
  const store = await openSqliteStore(join(goald.home, ".goald", "goald.db"));
  for (const [at, name] of ["Chef", "Chef", "Mr Miller", "日本語"].entries())
    await store.create(
      { name, role: "r", goals: ["g"], approve: "always", stepLimit: null },
      `k${at}`,
      new Date(2026, 0, 1).toISOString(),
    );
  await store.close();
});
afterAll(async () => goald[Symbol.asyncDispose]());

/** Runs bash with `goald` as the program under test; the arguments are the words before the cursor. */
const ASK_BASH = `
program=("\${@:1:2}"); shift 2
goald() { "\${program[@]}" "$@"; }
source ./bash
COMP_WORDS=(goald "$@"); COMP_CWORD=$#
_goald goald
printf '%s\\n' "\${COMPREPLY[@]}"
`;

/** Returns the completions that bash offers for the last word. */
async function complete(...words: readonly string[]): Promise<readonly string[]> {
  const ended = await goald.run(words, { shell: `exec bash -c '${ASK_BASH.replaceAll("'", "'\\''")}' bash "$@"` });
  expect(ended.stderr).toBe("");
  return endedWith(0, ended)
    .stdout.split("\n")
    .filter((line) => line !== "");
}

describe("completion in bash", () => {
  it("offers every verb of goald --help", async () => {
    expect(await complete("")).toEqual([...SHOWN, "help"]);
  });

  it.each([
    ["the beginning of a verb", ["res"], ["restart", "restore", "resume"]],
    ["a verb after options", ["--home", "/tmp", "--json", "rel"], ["reload"]],
    ["a verb after help", ["help", "unkn"], []],
    ["options of a verb", ["run", "--max"], ["--max-steps", "--max-tokens", "--max-time"]],
    ["options of every verb", ["ps", "--no"], ["--no-color", "--no-input"]],
    ["options of a nested verb", ["memory", "chef", "list", "--ki"], ["--kind"]],
    ["options of config", ["config", "--sh"], ["--show-origin"]],
    ["values of an option", ["run", "--approve", ""], ["never", "risky", "always"]],
    ["the beginning of a value", ["logs", "--level", "e"], ["error"]],
    ["nothing for free text", ["run", "--name", ""], []],
    ["verbs below memory", ["memory", "chef", "fo"], ["forget"]],
    ["shells", ["completion", ""], ["bash", "zsh", "fish"]],
  ])("offers %s: %j", async (_title, words, offered) => {
    expect([...(await complete(...words))].sort()).toEqual([...offered].sort());
  });

  it.each([
    ["ids", ["show", "ch"], ["chef", "chef-2"]],
    ["ids as the value of an option", ["run", "-g", "x", "--continue", "chef-"], ["chef-2"]],
    ["ids after options with values", ["stop", "-t", "5", "chef-"], ["chef-2"]],
    ["ids after memory", ["memory", "chef-"], ["chef-2"]],
    ["names where no id matches, quoted", ["say", "Mr"], ["Mr\\ Miller"]],
    ["ids in other scripts", ["attach", "日"], ["日本語"]],
    ["nothing after the agent", ["show", "chef", ""], []],
  ])("offers agents: %s", async (_title, words, offered) => {
    expect(await complete(...words)).toEqual(offered);
  });

  it("reads the home that the line names", async () => {
    const other = join(goald.cwd, "other");
    expect(await complete("show", "--home", other, "")).toEqual([]);
    expect(await complete("--home", goald.home, "show", "chef-")).toEqual(["chef-2"]);
  });

  it("starts no daemon", async () => {
    await complete("show", "");
    expect(await goald.read(".goald/daemon.json")).toBeUndefined();
    expect(await goald.read(".goald/lock.db")).toBeUndefined();
  });

  it("prints nothing in a home that cannot be read", async () => {
    await using broken = await makeGoald();
    await broken.write(".goald/goald.db", "this is not a database".repeat(100));
    await broken.write("config/goald.json", "{");
    expect(await broken.ask(["complete", "--", "show", ""])).toMatchObject({ stdout: "", stderr: "", code: 0 });
    await rm(broken.home, { recursive: true });
    await writeFile(broken.home, "");
    expect(await broken.ask(["complete", "--", "show", ""])).toMatchObject({ stdout: "", stderr: "", code: 0 });
  });
});

describe("the completion scripts", () => {
  it.each([
    ["bash", ["-n"]],
    ["zsh", ["-n"]],
    ["fish", ["--no-execute"]],
  ])("%s parses its script where it is installed", (shell, args) => {
    if (!isInstalled(shell)) return;
    execFileSync(shell, [...args, join(goald.cwd, shell)], { stdio: "pipe" });
  });

  it("exist for three shells only", async () => {
    const { code, message } = errorOf(endedWith(2, await goald.ask(["completion", "tcsh", "--json"])));
    expect({ code, message }).toEqual({
      code: "GOALD_USAGE",
      message: "command-argument value 'tcsh' is invalid for argument 'shell'. Allowed choices are bash, zsh, fish.",
    });
  });
});

function isInstalled(shell: string): boolean {
  try {
    execFileSync("sh", ["-c", `command -v ${shell}`], { stdio: "pipe" });
    return true;
  } catch {
    return false;
  }
}
