import { mkdir, readFile, stat, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "@jest/globals";
import { readAgentFile } from "#config/agent-file.ts";
import { endedWith, errorOf, type Goald, makeGoald } from "../helpers/goald.ts";

const PARTS = ["workspace/", "config/", "commands/", "prompts/", ".goald/"];
const FILES = [".env", "config/example-agent.yaml", "README.md", ".gitignore"];

const modeOf = async (path: string): Promise<number> => (await stat(path)).mode & 0o777;
const trusted = async ({ userHome }: Goald): Promise<string | undefined> =>
  readFile(join(userHome, ".config", "goald", "trusted.json"), "utf8").catch(() => undefined);

describe("goald init", () => {
  it("creates a home, and prints its path, its contents and the next steps", async () => {
    await using goald = await makeGoald();
    const folder = join(goald.cwd, "new", "home");
    const { stdout, stderr } = endedWith(0, await goald.ask(["init", folder]));
    expect(stderr).toBe("");
    expect(stdout).toContain(`Made a home: ${folder}\n`);
    expect(stdout).toContain(`  made:  ${[...PARTS, ...FILES].join("  ")}\n`);
    expect(stdout).toContain(`  goald config openai.baseUrl http://127.0.0.1:11434/v1 --home "${folder}"\n`);
    expect(stdout).toContain(`  goald run --from "${folder}/config/example-agent.yaml" --home "${folder}"\n`);
    expect(await modeOf(join(folder, ".env"))).toBe(0o600);
    expect(await modeOf(join(folder, ".goald"))).toBe(0o700);
    expect((await readAgentFile(join(folder, "config", "example-agent.yaml"))).notes).toEqual([]);
    expect(await readFile(join(folder, ".gitignore"), "utf8")).toBe(".env\n.goald/\nworkspace/\n");
  });

  it("leaves every setting at its default, and verbs work there at once", async () => {
    await using goald = await makeGoald();
    const untouched = endedWith(0, await goald.ask(["config", "--all", "--json"]));
    endedWith(0, await goald.ask(["init"]));
    expect((await goald.ask(["config", "--all", "--json"])).stdout).toBe(untouched.stdout);
    const { stdout, stderr } = endedWith(0, await goald.ask(["ps"]));
    expect(stdout + stderr).toBe(`No agents in ${goald.home} yet. Set one up: goald run\n`);
  });

  it("changes nothing the second time, and reports so", async () => {
    await using goald = await makeGoald();
    endedWith(0, await goald.ask(["init"]));
    await goald.write(".env", "SMART_LLM=mine\n");
    const { stdout } = endedWith(0, await goald.ask(["init", "--json"]));
    expect(JSON.parse(stdout)).toEqual({
      home: goald.home,
      chosenBy: "GOALD_HOME",
      made: [],
      kept: [...PARTS, ...FILES],
    });
    expect(await goald.read(".env")).toBe("SMART_LLM=mine\n");
    expect((await goald.ask(["init"])).stdout).toContain(`This folder is a home already: ${goald.home}\n`);
  });

  it("creates missing files and keeps existing ones, even a link", async () => {
    await using goald = await makeGoald();
    await goald.write("README.md", "# Somebody's project\n");
    await symlink(join(goald.cwd, "elsewhere"), join(goald.home, ".env"));
    const { stdout } = endedWith(0, await goald.ask(["init", "--json"]));
    expect(JSON.parse(stdout)).toMatchObject({ kept: [".env", "README.md"] });
    expect(await goald.read("README.md")).toBe("# Somebody's project\n");
    await expect(stat(join(goald.cwd, "elsewhere"))).rejects.toMatchObject({ code: "ENOENT" });
  });

  it("lists what a repository would include", async () => {
    await using goald = await makeGoald();
    await goald.write(".gitignore", "node_modules\n/.goald/\n");
    const { stderr } = endedWith(0, await goald.ask(["init"]));
    expect(stderr).toContain(`Keep keys out of repositories: add .env to ${goald.home}/.gitignore.\n`);
  });
});

describe("goald init in an unsuitable place", () => {
  it("refuses a folder that agents write in (exit 2), under any path to it", async () => {
    await using goald = await makeGoald();
    endedWith(0, await goald.ask(["init"]));
    const link = join(goald.cwd, "link");
    await symlink(join(goald.home, "workspace"), link);
    for (const args of [[join(goald.home, "workspace")], [join(goald.home, "workspace", "a", "b")], [join(link, "a")]])
      expect(errorOf(endedWith(2, await goald.ask(["init", "--json", ...args])))).toEqual({
        code: "GOALD_USAGE",
        message: `Expected a folder for a home, got ${args[0]}: the agents of the home ${goald.home} write there.`,
        hint: "Choose a folder outside of it, such as: goald init ~/goald",
      });
    await expect(stat(join(goald.home, "workspace", "a"))).rejects.toMatchObject({ code: "ENOENT" });
  });

  it("allows an unrelated folder of that name, and reports that it must be named", async () => {
    await using goald = await makeGoald();
    const { stderr } = endedWith(0, await goald.ask(["init", "workspace/mine"]));
    expect(stderr).toMatch(/below a folder called workspace by itself\. Name this one with --home/);
  });

  it.each<[title: string, args: readonly string[], code: number, message: RegExp]>([
    ["two folders", ["init", "a", "--home", "b"], 2, /one as an argument and one with --home/],
    ["an empty name", ["init", " "], 2, /name a folder, got " "/],
    ["a file in its place", ["init", "file"], 1, /cannot be used: a file is in its place/],
    ["a folder below a file", ["init", "file/below"], 1, /cannot be used: a file is in the way/],
    ["a folder that cannot be made", ["init", "/proc/goald"], 1, /cannot be used/],
  ])("refuses %s", async (_title, args, code, message) => {
    await using goald = await makeGoald();
    await writeFile(join(goald.cwd, "file"), "");
    const { stderr, stdout } = endedWith(code, await goald.ask(args));
    expect(stderr).toMatch(message);
    expect(stdout).toBe("");
  });
});

describe("the trust that goald init records", () => {
  it("covers a home that it created", async () => {
    await using goald = await makeGoald();
    endedWith(0, await goald.ask(["init", "mine"]));
    expect(JSON.parse((await trusted(goald)) ?? "")).toEqual({ trusted: [join(goald.cwd, "mine")] });
  });

  it.each<[title: string, plant: (folder: string) => Promise<unknown>]>([
    ["a .goald folder", (folder) => mkdir(join(folder, ".goald"))],
    [
      "commands",
      async (folder) => {
        await mkdir(join(folder, "commands"));
        await writeFile(join(folder, "commands", "spy.ts"), "");
      },
    ],
    ["a .env", (folder) => writeFile(join(folder, ".env"), "")],
  ])("does not cover a folder that held %s before", async (_title, plant) => {
    await using goald = await makeGoald();
    const folder = join(goald.cwd, "theirs");
    await mkdir(folder);
    await plant(folder);
    const { stderr } = endedWith(0, await goald.ask(["init", "theirs"]));
    expect(stderr).toContain("goald asks once");
    expect(await trusted(goald)).toBeUndefined();
  });

  it("is reported if it cannot be stored, and the home exists anyway", async () => {
    await using goald = await makeGoald();
    await writeFile(join(goald.userHome, ".config"), "a file in the way");
    const { stderr } = endedWith(0, await goald.ask(["init", "mine"]));
    expect(stderr).toMatch(/Your trust in .*mine could not be recorded/);
    expect(await modeOf(join(goald.cwd, "mine", ".goald"))).toBe(0o700);
  });
});
