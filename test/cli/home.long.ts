import { cp, mkdir, mkdtemp, readFile, realpath, rm, stat, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { endedWith, errorOf, type Goald, makeGoald } from "../helpers/goald.ts";
import { numberedModel } from "../helpers/numbered-model.ts";
import { type OpenAIServer, startOpenAIServer } from "../helpers/openai-server.ts";

const CHECKOUT = fileURLToPath(new URL("../..", import.meta.url));
const RUN = ["run", "--name", "T", "--goal", "g", "--continuous"];

/** An installed goald has no checkout, so its own folder is not a home. */
let installed: string;
let server: OpenAIServer;
beforeAll(async () => {
  installed = await mkdtemp(join(tmpdir(), "goald-installed-"));
  for (const part of ["src", "commands", "prompts", "config", "package.json"])
    await cp(join(CHECKOUT, part), join(installed, part), { recursive: true });
  await symlink(await realpath(join(CHECKOUT, "node_modules")), join(installed, "node_modules"));
  server = await startOpenAIServer({ reply: numberedModel([]), embeddings: null });
});
afterAll(async () => {
  await server.close();
  await rm(installed, { recursive: true, force: true });
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
    for (const verb of [RUN, ["ps"], ["demo"], ["resume", "t"]]) {
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
  });

  it("needs a yes on a terminal; a no leaves it unread, and the yes is stored outside of it", async () => {
    await using goald = await makeInstalled();
    const folder = await plant(join(goald.cwd, "project"));
    const record = join(goald.userHome, ".config", "goald", "trusted.json");
    const declined = goald.openTerminal(["ps"], { ...binary(), cwd: folder });
    await declined.see(`${folder} looks like a goald home.`);
    await declined.answer("Do you trust this folder? [y/N] ", "n");
    endedWith(1, await declined.ended);
    await expect(stat(record)).rejects.toMatchObject({ code: "ENOENT" });
    await rm(join(folder, "commands"), { recursive: true });
    await writeFile(join(folder, ".env"), "");
    const trusted = goald.openTerminal(["ps"], { ...binary(), cwd: folder });
    await trusted.answer("Do you trust this folder? [y/N] ", "y");
    await trusted.see(`No agents in ${folder} yet.`);
    endedWith(0, await trusted.ended);
    expect(JSON.parse(await readFile(record, "utf8"))).toEqual({ trusted: [folder] });
    endedWith(0, await goald.run(RUN, { ...binary(), cwd: folder }));
    expect(await stat(join(folder, "workspace", "t"))).toBeDefined();
  });

  it("is used when it is named", async () => {
    await using goald = await makeInstalled();
    const folder = await plant(join(goald.cwd, "project"));
    // The home is read now, so its mistake is found.
    const named = endedWith(2, await goald.run(["ps", "--home", folder], binary()));
    expect(named.stderr).toContain("GOALD_LIMITS_UNATTENDED_STEPS");
  });
});

describe("a home that goald init made", () => {
  it("needs no question from inside, but one made in an existing project does", async () => {
    await using goald = await makeInstalled();
    const mine = join(goald.cwd, "mine");
    endedWith(0, await goald.run(["init", "mine"], binary()));
    const below = join(mine, "notes", "deep");
    await mkdir(below, { recursive: true });
    const path = endedWith(0, await goald.run(["config", "--json"], { ...binary(), cwd: below }));
    expect(JSON.parse(path.stdout)).toMatchObject({ home: mine });
    const again = endedWith(0, await goald.run(["init", "--json"], { ...binary(), cwd: below }));
    expect(JSON.parse(again.stdout)).toMatchObject({ home: mine, chosenBy: "found", made: [] });
    const theirs = await plant(join(goald.cwd, "theirs"));
    endedWith(0, await goald.run(["init", "theirs"], binary()));
    const refused = endedWith(1, await goald.run(["ps", "--json"], { ...binary(), cwd: theirs }));
    expect(errorOf(refused).code).toBe("GOALD_HOME_UNTRUSTED");
  });

  it("is ~/goald without an argument, and is trusted from inside too", async () => {
    await using goald = await makeInstalled();
    const home = join(goald.userHome, "goald");
    const made = endedWith(0, await goald.run(["init", "--json"], binary()));
    expect(JSON.parse(made.stdout)).toMatchObject({ home, chosenBy: "default" });
    const { stdout } = endedWith(0, await goald.run(["ps"], { ...binary(), cwd: join(home, "config") }));
    expect(stdout).toContain(`No agents in ${home} yet.`);
  });

  it("is never created in the folder of an agent", async () => {
    await using goald = await makeInstalled();
    endedWith(0, await goald.run(["init"], binary()));
    const folder = join(goald.userHome, "goald", "workspace", "t");
    await mkdir(folder);
    const refused = endedWith(2, await goald.run(["init", "."], { ...binary(), cwd: folder }));
    expect(refused.stderr).toContain(`the agents of the home ${goald.userHome}/goald write there`);
  });
});

describe("the default home", () => {
  it("is ~/goald, and its path is printed", async () => {
    await using goald = await makeInstalled();
    const ended = endedWith(0, await goald.run(RUN, binary()));
    expect(ended.stdout).toContain(`T (t) works in ${goald.userHome}/goald/workspace/t\n`);
    expect((await stat(join(goald.userHome, "goald", ".goald"))).mode & 0o777).toBe(0o700);
  });

  it("can be set by the environment and by --home, which wins and appears in all printed calls", async () => {
    await using goald = await makeGoald({ OPENAI_BASE_URL: server.baseUrl });
    endedWith(0, await goald.ask(RUN));
    const other = join(goald.cwd, "other home");
    const limited = endedWith(
      6,
      await goald.ask(["run", "--goal", "g", "--continuous", "-l", "1", "--home", other], {
        env: { OPENAI_BASE_URL: await sleepingModel() },
      }),
    );
    expect(limited.stdout).toContain(`Go on with: goald resume goald --home "${other}"\n`);
    expect(JSON.parse((await goald.ask(["ps", "--json"])).stdout)).toMatchObject({ agents: [{ id: "t" }] });
    expect(JSON.parse((await goald.ask(["--home", other, "ps", "--json"])).stdout)).toMatchObject({
      agents: [{ id: "goald" }],
    });
  });

  it("prints a call with a higher limit after the token limit was reached", async () => {
    await using goald = await makeGoald({ OPENAI_BASE_URL: server.baseUrl });
    const limited = endedWith(6, await goald.ask([...RUN, "--max-tokens", "10"]));
    const [, call = ""] = /^Go on with: goald (.*)\n/m.exec(limited.stdout) ?? [];
    expect(call).toBe("resume t --max-tokens 1000000");
    endedWith(0, await goald.ask([...call.split(" "), "--continuous"]));
  });

  const closing: OpenAIServer[] = [];
  afterAll(() => Promise.all(closing.map((one) => one.close())));
  async function sleepingModel(): Promise<string> {
    const one = await startOpenAIServer({
      reply: numberedModel([{ name: "do_nothing", args: {} }]),
      embeddings: null,
    });
    closing.push(one);
    return one.baseUrl;
  }
});
