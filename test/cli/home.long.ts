import { execFileSync } from "node:child_process";
import { chmod, copyFile, cp, mkdir, readFile, realpath, rm, stat, symlink, utimes, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { beforeAll, describe, expect, it } from "@jest/globals";
import { openSqliteStore } from "#store/sqlite/open-store.ts";
import { findProgram } from "#util/find-program.ts";
import { SUMMARIES, VERB_NAMES } from "../../src/cli/verb-list.ts";
import { useShared } from "../helpers/folder.ts";
import { daemonOf, endedWith, errorOf, examine, type Goald, levelOf, makeGoald, textOf } from "../helpers/goald.ts";
import { numberedModel } from "../helpers/models.ts";
import { startOpenAIServer } from "../helpers/openai-server.ts";

const CHECKOUT = fileURLToPath(new URL("../..", import.meta.url));
const HOME_RUN = ["run", "--name", "T", "--goal", "g", "--continuous"];

/** An installed goald has no checkout, so its own folder is not a home. */
let installed: string;
const server = useShared(() => startOpenAIServer({ reply: numberedModel([]), embeddings: null }));
beforeAll(async () => {
  installed = (await makeGoald()).cwd;
  for (const part of ["src", "commands", "prompts", "config", "package.json"])
    await cp(join(CHECKOUT, part), join(installed, part), { recursive: true });
  await symlink(await realpath(join(CHECKOUT, "node_modules")), join(installed, "node_modules"));
});

const makeInstalled = (): Promise<Goald> => makeGoald({ GOALD_HOME: undefined, OPENAI_BASE_URL: server.baseUrl });
const binary = (): { readonly binary: string } => ({ binary: join(installed, "src", "goald.js") });

/** Makes a folder of a stranger: a `.goald`, a key, and a command that reports when it is loaded. */
async function plant(folder: string): Promise<string> {
  await mkdir(join(folder, ".goald"), { recursive: true, mode: 0o700 });
  await mkdir(join(folder, "commands"), { recursive: true });
  await writeFile(join(folder, ".env"), "GOALD_LIMITS_UNATTENDED_STEPS=lots\n");
  await writeFile(join(folder, "commands", "spy.ts"), 'console.log("the spy runs");\nexport default {};\n');
  return realpath(folder);
}

describe("a home in a parent folder that nobody has trusted", () => {
  it("is rejected without a terminal (exit 1), and nothing in it is read", async () => {
    await using goald = await makeInstalled();
    const folder = await plant(join(goald.cwd, "project"));
    const below = join(folder, "deep", "er");
    await mkdir(below, { recursive: true });
    for (const verb of [HOME_RUN, ["ps"], ["demo"], ["resume", "t"]]) {
      const refused = endedWith(1, await goald.run([...verb, "--json"], { ...binary(), cwd: below }));
      expect(errorOf(refused)).toEqual({
        code: "GOALD_HOME_UNTRUSTED",
        message: `${folder} holds a .goald folder, but it is not a trusted home and there is no terminal to ask you on. Nothing in it was read.`,
        hint: expect.stringContaining(`--home "${folder}"`),
      });
      expect(refused.stdout).toBe("");
    }
    await expect(stat(join(folder, "workspace"))).rejects.toMatchObject({ code: "ENOENT" });
    await expect(stat(join(goald.userHome, "goald"))).rejects.toMatchObject({ code: "ENOENT" });
    // The home is read when it is named, so its mistake is found.
    const named = endedWith(2, await goald.run(["ps", "--home", folder], binary()));
    expect(named.stderr).toContain("GOALD_LIMITS_UNATTENDED_STEPS");
  });

  it("needs a yes on a terminal; a no leaves it unread, and the yes is stored outside of it", async () => {
    await using goald = await makeInstalled();
    const folder = await plant(join(goald.cwd, "project"));
    const record = join(goald.userHome, ".config", "goald", "trusted.json");
    const declined = goald.openTerminal("ps", { ...binary(), cwd: folder });
    await declined.see(`${folder} looks like a goald home.`);
    await declined.answer("Do you trust this folder? [y/N] ", "n");
    endedWith(1, await declined.ended);
    await expect(stat(record)).rejects.toMatchObject({ code: "ENOENT" });
    await rm(join(folder, "commands"), { recursive: true });
    await writeFile(join(folder, ".env"), "");
    const trusted = goald.openTerminal("ps", { ...binary(), cwd: folder });
    await trusted.answer("Do you trust this folder? [y/N] ", "y");
    await trusted.see(`No agents in ${folder} yet.`);
    endedWith(0, await trusted.ended);
    expect(JSON.parse(await readFile(record, "utf8"))).toEqual({ trusted: [folder] });
    endedWith(0, await goald.run(HOME_RUN, { ...binary(), cwd: folder }));
    expect(await stat(join(folder, "workspace", "t"))).toBeDefined();
  });
});

it("a home that goald init made needs no question from inside, but one made in an existing project does", async () => {
  await using goald = await makeInstalled();
  const mine = join(goald.cwd, "mine");
  endedWith(0, await goald.run("init mine", binary()));
  const below = join(mine, "notes", "deep");
  await mkdir(below, { recursive: true });
  const path = endedWith(0, await goald.run("config --json", { ...binary(), cwd: below }));
  expect(JSON.parse(path.stdout)).toMatchObject({ home: mine });
  const again = endedWith(0, await goald.run("init --json", { ...binary(), cwd: below }));
  expect(JSON.parse(again.stdout)).toMatchObject({ home: mine, chosenBy: "found", made: [] });
  const theirs = await plant(join(goald.cwd, "theirs"));
  endedWith(0, await goald.run("init theirs", binary()));
  const refused = endedWith(1, await goald.run("ps --json", { ...binary(), cwd: theirs }));
  expect(errorOf(refused).code).toBe("GOALD_HOME_UNTRUSTED");
});

describe("the default home", () => {
  it("is ~/goald, whose path is printed, and goald init makes it one that is trusted from inside", async () => {
    await using goald = await makeInstalled();
    const home = join(goald.userHome, "goald");
    const ended = endedWith(0, await goald.run(HOME_RUN, binary()));
    expect(ended.stdout).toContain(`T (t) works in ${home}/workspace/t\n`);
    expect(await modeOf(join(home, ".goald"))).toBe(0o700);
    const made = endedWith(0, await goald.run("init --json", binary()));
    expect(JSON.parse(made.stdout)).toMatchObject({ home, chosenBy: "default" });
    const { stdout } = endedWith(0, await goald.run("ps -a", { ...binary(), cwd: join(home, "config") }));
    expect(stdout).toMatch(/^t +completed /m);
  });

  it("can be set by the environment and by --home, which wins and appears in all printed calls", async () => {
    await using goald = await makeGoald({ OPENAI_BASE_URL: server.baseUrl });
    endedWith(0, await goald.ask(HOME_RUN));
    const other = join(goald.cwd, "other home");
    const nothing = numberedModel([{ name: "do_nothing", args: {} }]);
    await using asleep = await startOpenAIServer({ reply: nothing, embeddings: null });
    const env = { OPENAI_BASE_URL: asleep.baseUrl };
    const run = ["run", "--goal", "g", "--continuous", "-l", "1", "--home", other];
    const limited = endedWith(6, await goald.ask(run, { env }));
    expect(limited.stdout).toContain(`Go on with: goald resume goald --home "${other}"\n`);
    expect(await goald.json("ps")).toMatchObject({ agents: [{ id: "t" }] });
    expect(await goald.json(["--home", other, "ps"])).toMatchObject({ agents: [{ id: "goald" }] });
  });
});

const KEY = "sk-secret-0123456789abcdef";
const SERVER = { OPENAI_BASE_URL: "http://127.0.0.1:9/v1" };

const modeOf = async (path: string): Promise<number> => (await stat(path)).mode & 0o777;

describe("goald doctor", () => {
  it("finds files that other users can read or write, and closes them with --fix", async () => {
    await using goald = await makeGoald(SERVER);
    await goald.write(".env", "A=b\n", 0o644);
    endedWith(0, await goald.ask("ps"));
    await using daemon = daemonOf(goald);
    endedWith(0, await goald.ask("up"));
    const at = (path: string): string => join(goald.home, path);
    await chmod(at(".goald"), 0o755);
    await chmod(at(".goald/goald.db"), 0o640);
    await chmod(at(".goald/log/goald.log"), 0o604);
    await chmod(at("commands"), 0o777);
    const found = await examine(goald, 1);
    for (const path of [".env", ".goald", ".goald/goald.db", ".goald/log/goald.log", "commands"])
      expect(textOf(found, "permissions")).toContain(`${at(path)} `);
    expect(found.errors).toBe(5);
    const fixed = await examine(goald, 0, ["--fix"]);
    expect(fixed.repaired).toHaveLength(5);
    expect(levelOf(fixed, "permissions")).toEqual(["ok"]);
    const modes = await Promise.all([".env", ".goald", ".goald/goald.db", "commands"].map((path) => modeOf(at(path))));
    expect(modes).toEqual([0o600, 0o700, 0o600, 0o755]);
    expect(daemon.isHeld()).toBe(true);
  });

  it("distinguishes a daemon that runs, died, or was stopped, and removes the socket of a dead one with --fix", async () => {
    await using goald = await makeGoald(SERVER);
    await using daemon = daemonOf(goald);
    const socket = join(goald.home, ".goald", "daemon.sock");
    endedWith(0, await goald.ask("up"));
    const running = await examine(goald, 0, ["--fix"]);
    expect(textOf(running, "daemon")).toContain(`runs (pid ${daemon.pid()}, goald `);
    expect(running.repaired).toEqual([]);
    expect((await stat(socket)).isSocket()).toBe(true);
    await daemon.kill();
    const output = join(goald.home, ".goald", "log", "daemon.out");
    await writeFile(output, "first\nFATAL ERROR: \u001b[31mno memory\n");
    await utimes(output, 1, 1);
    expect(textOf(await examine(goald, 1), "daemon")).toContain("did not end it Its agents");
    await utimes(output, new Date(), new Date());
    const died = await examine(goald, 1);
    expect(textOf(died, "daemon")).toContain("did not end it. Its last words: FATAL ERROR: ");
    expect(textOf(died, "daemon")).toContain("goald up");
    expect(levelOf(died, "socket")).toEqual(["warning"]);
    const { stdout } = endedWith(1, await goald.ask("doctor"));
    expect(stdout).toContain("FATAL ERROR: no memory");
    expect((await examine(goald, 1, ["--fix"])).repaired).toMatchObject([{ text: expect.stringContaining(socket) }]);
    await expect(stat(socket)).rejects.toMatchObject({ code: "ENOENT" });
    endedWith(0, await goald.ask("up"));
    endedWith(0, await goald.ask("down"));
    expect(levelOf(await examine(goald, 0), "daemon")).toEqual(["ok"]);
  });

  it("does not take the daemon of a home for that of its copy, and names the variables that the daemon lacks", async () => {
    await using goald = await makeGoald(SERVER);
    await using daemon = daemonOf(goald);
    endedWith(0, await goald.ask("up"));
    expect(levelOf(await examine(goald, 0), "environment")).toEqual([]);
    const report = await examine(goald, 0, [], { OPENAI_API_KEY: KEY });
    expect(levelOf(report, "environment")).toEqual(["warning"]);
    expect(textOf(report, "environment")).toContain("OPENAI_API_KEY");
    expect(textOf(report, "environment")).not.toContain("OPENAI_BASE_URL");
    expect(JSON.stringify(report)).not.toContain(KEY);
    const copy = join(goald.home, "copy");
    await mkdir(join(copy, ".goald"), { recursive: true, mode: 0o700 });
    await copyFile(join(goald.home, ".goald", "daemon.json"), join(copy, ".goald", "daemon.json"));
    const inCopy = { env: { GOALD_HOME: copy } };
    const { findings, repaired } = await examine(goald, 0, ["--fix"], inCopy.env);
    expect([findings.filter(({ check }) => check === "socket"), repaired]).toEqual([[], []]);
    endedWith(4, await goald.ask("down", inCopy));
    expect(await goald.json("status")).toMatchObject({ pid: daemon.pid() });
  });
});

describe("completion", () => {
  let goald: Goald;
  beforeAll(async () => {
    goald = await makeGoald();
    for (const shell of ["bash", "zsh", "fish"])
      await writeFile(join(goald.cwd, shell), await goald.print(["completion", shell]));
    const store = await openSqliteStore(join(goald.home, ".goald", "goald.db"));
    const spec = { role: "r", goals: ["g"], approve: "always", stepLimit: null } as const;
    for (const [at, name] of ["Chef", "Chef", "Mr Miller", "日本語"].entries())
      await store.create({ ...spec, name }, `k${at}`, new Date(2026, 0, 1).toISOString());
    await store.close();
  });

  /** Runs bash with `goald` as the program under test; the arguments are the words before the cursor. */
  const ASK_BASH = `
program=("\${@:1:2}"); shift 2
goald() { "\${program[@]}" "$@"; }
source ./bash
COMP_WORDS=(goald "$@"); COMP_CWORD=$#
_goald goald
printf '%s\\n' "\${COMPREPLY[@]}"
`;

  /** Returns the completions that bash offers for the last word of a line; a line that ends with a blank has an empty one. */
  async function complete(line: string): Promise<readonly string[]> {
    const ended = await goald.run(line, { shell: `exec bash -c '${ASK_BASH.replaceAll("'", "'\\''")}' bash "$@"` });
    expect(ended.stderr).toBe("");
    const lines = endedWith(0, ended).stdout.split("\n");
    return lines.filter((offered) => offered !== "");
  }

  it("offers every verb of goald --help", async () => {
    const shown = VERB_NAMES.filter((name) => SUMMARIES[name].group !== undefined);
    expect(await complete("")).toEqual([...shown, "help"]);
  });

  const OFFERS: readonly (readonly [line: string, offered: readonly string[]])[] = [
    // Verbs, options, values of options, and nothing for free text.
    ["res", ["restart", "restore", "resume"]],
    ["--home /tmp --json rel", ["reload"]],
    ["help unkn", []],
    ["memory chef fo", ["forget"]],
    ["run --max", ["--max-steps", "--max-time", "--max-tokens"]],
    ["ps --no", ["--no-color", "--no-input"]],
    ["memory chef list --ki", ["--kind"]],
    ["config --sh", ["--show-origin"]],
    ["run --approve ", ["always", "never", "risky"]],
    ["logs --level e", ["error"]],
    ["run --name ", []],
    ["completion ", ["bash", "fish", "zsh"]],
    // Agents by id, or quoted by name where no id matches, and nothing after the agent.
    ["show ch", ["chef", "chef-2"]],
    ["run -g x --continue chef-", ["chef-2"]],
    ["stop -t 5 chef-", ["chef-2"]],
    ["memory chef-", ["chef-2"]],
    ["say Mr", ["Mr\\ Miller"]],
    ["attach 日", ["日本語"]],
    ["show chef ", []],
    ["rm chef chef-", ["chef-2"]],
  ];

  it(`offers what fits to each of ${OFFERS.length} lines`, async () => {
    for (const [line, offered] of OFFERS)
      expect({ line, offered: [...(await complete(line))].sort() }).toEqual({ line, offered });
  });

  it("reads the home that the line names, and starts no daemon", async () => {
    expect(await complete(`show --home ${join(goald.cwd, "other")} `)).toEqual([]);
    expect(await complete(`--home ${goald.home} show chef-`)).toEqual(["chef-2"]);
    expect(await goald.read(".goald/daemon.json")).toBeUndefined();
    expect(await goald.read(".goald/lock.db")).toBeUndefined();
  });

  it("prints nothing in a home that cannot be read", async () => {
    await using broken = await makeGoald();
    await broken.write(".goald/goald.db", "this is not a database".repeat(100));
    await broken.write("config/goald.json", "{");
    expect(await broken.ask("complete -- show ")).toMatchObject({ stdout: "", stderr: "", code: 0 });
    await rm(broken.home, { recursive: true });
    await writeFile(broken.home, "");
    expect(await broken.ask("complete -- show ")).toMatchObject({ stdout: "", stderr: "", code: 0 });
  });

  it.each([
    ["bash", "-n"],
    ["zsh", "-n"],
    ["fish", "--no-execute"],
  ])("has a script that %s parses where it is installed", (shell, flag) => {
    if (findProgram(shell, process.env.PATH ?? "") === undefined) return;
    execFileSync(shell, [flag, join(goald.cwd, shell)], { stdio: "pipe" });
  });
});
