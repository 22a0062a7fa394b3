import { chmod, chown, mkdir, readFile, rename, rm, stat, symlink, utimes, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { beforeAll, describe, expect, it } from "@jest/globals";
import { readAgentFile } from "#config/agent-file.ts";
import { VERB_NAMES } from "../../src/cli/verb-list.ts";
import { AGENT, type Ended, endedWith, errorOf, type Goald, makeGoald } from "../helpers/goald.ts";
import { EMPTY_RECORDING } from "./empty-recording.ts";

const COMMAND = `import { writeFileSync } from "node:fs";
writeFileSync(process.env.RAN, "");
export default { name: "own", label: "Own", summary: "does nothing.", args: { type: "object", properties: {} },
  annotations: { readOnly: true, destructive: false, idempotent: true, openWorld: false }, effect: "pure",
  async run() { return { status: "ok", text: "", source: "goald", artifacts: [] }; } };`;

/** Calls that get as far as their home; those of other verbs take an agent, or nothing. */
const CALLS =
  `run ${AGENT.join(" ")}, replay t.ndjson, test ${join(import.meta.dirname, "../../config/example-agent.yaml")},
  say t x, trust t all, goals t, plan t, fork t --step 1, why t f, restore t --step 1, diff t, ingest t f, backup to,
  memory t add x, memory t import f, memory t search x, memory t correct m1 x, memory t forget m1, memory t list, memory t export`
    .split(",")
    .map((call) => call.trim());
const OF_AGENT = /^(?:resume|attach|show|approve|deny|pause|stop|rm|events)$/;
/** They load nothing from the home, or report its faults. */
const FREE = new Set(["doctor", "init", "completion", "complete", "memory", "config", "plain", "help"]);
/** A call of the verb; `memory` has the agent between its words. */
const callOf = (name: string): string =>
  CALLS.find((call) => `${call.replace("memory t", "memory")} `.startsWith(`${name} `)) ??
  (OF_AGENT.test(name) ? `${name} t` : name);

let goald: Goald;
let ran: string;
beforeAll(async () => {
  goald = await makeGoald({ OPENAI_BASE_URL: "http://127.0.0.1:9/v1" });
  ran = join(goald.cwd, "ran");
  await writeFile(join(goald.cwd, "t.ndjson"), EMPTY_RECORDING.map((line) => `${JSON.stringify(line)}\n`).join(""));
  endedWith(0, await goald.ask("init"));
  await goald.write("commands/own.ts", COMMAND);
  await goald.write("commands/lib/part.ts", "export {};\n");
  await goald.write("methods/a.py", "");
  await goald.write("prompts/system.md", "");
  await rm(join(goald.home, "prompts/system.md"));
});

let calls = 0;
/** Each call would run the changed command again. */
async function ask(args: readonly string[]): Promise<Ended> {
  await rm(ran, { force: true });
  await utimes(at("commands/own.ts"), ++calls, calls);
  // The daemon uses the channel of the shared process.
  const call = args[0] === "daemon" ? goald.run : goald.ask;
  return call([...args, "--json"], { env: { RAN: ran } });
}
const at = (path: string): string => join(goald.home, path);
const hasRun = (): Promise<boolean> => stat(ran).then(Boolean, () => false);

/** Does `act` while the path has that mode. */
async function withMode(path: string, mode: number, act: () => Promise<void>): Promise<void> {
  const before = (await stat(at(path))).mode & 0o7777;
  await chmod(at(path), mode);
  try {
    await act();
  } finally {
    await chmod(at(path), before);
  }
}
async function expectRefused(ended: Ended, reason: string, mend: string): Promise<void> {
  const { code, message, hint } = errorOf(endedWith(1, ended));
  expect({ code, hasRun: await hasRun() }).toEqual({ code: "GOALD_HOME_UNTRUSTED", hasRun: false });
  expect(message).toContain(reason);
  expect(hint).toContain(mend);
}

describe("a home that others may change", () => {
  it("is refused by every verb that loads anything from it, with the call that mends it", async () => {
    endedWith(0, await ask(["commands"]));
    expect(await hasRun()).toBe(true);
    await withMode("commands", 0o777, async () => {
      for (const name of VERB_NAMES.filter((name) => !FREE.has(name))) {
        const call = callOf(name);
        const ended = await ask(call.split(" "));
        const code = ended.stderr.startsWith("{") ? errorOf(ended).code : ended.stderr;
        expect({ call, code }).toEqual({ call, code: "GOALD_HOME_UNTRUSTED" });
        const path = at("commands");
        await expectRefused(ended, `${path} can be written by others (mode 777).`, `chmod go-w '${path}'`);
      }
    });
  });

  it.each([
    "",
    ".goald",
    "prompts",
    "config",
    ".env",
    "commands/own.ts",
    "commands/lib",
    "commands/lib/part.ts",
    "methods/a.py",
  ])("is refused for %s", async (path) => {
    await withMode(path, ((await stat(at(path))).mode & 0o7777) | 0o002, async () => {
      await expectRefused(await ask(["commands"]), `${path} can be written by others`, "chmod go-w ");
      expect(endedWith(1, await ask(["doctor"])).stdout).toMatch(/ (?:can be|is open to) /);
      expect(await hasRun()).toBe(false);
    });
    endedWith(0, await ask(["commands"]));
  });

  it("is refused for the target of a link, and for the folder of that target", async () => {
    const elsewhere = join(goald.cwd, "elsewhere");
    await mkdir(elsewhere);
    await rename(at("commands"), join(elsewhere, "commands"));
    await symlink(join(elsewhere, "commands"), at("commands"));
    endedWith(0, await ask(["commands"]));
    await chmod(elsewhere, 0o777);
    await expectRefused(await ask(["commands"]), `${elsewhere} can be written by others`, `chmod go-w '${elsewhere}'`);
    await chmod(elsewhere, 0o755);
    await chmod(join(elsewhere, "commands"), 0o757);
    await expectRefused(await ask(["commands"]), `${elsewhere}/commands can be written by others`, "chmod go-w ");
    await chmod(join(elsewhere, "commands"), 0o755);
    await rm(at("commands"));
    await rename(join(elsewhere, "commands"), at("commands"));
  });

  it("is accepted as goald init makes it, under any umask, with a group of this user alone", async () => {
    for (const umask of ["000", "002", "077"]) {
      const home = join(goald.cwd, `home-${umask}`);
      endedWith(0, await goald.run(["init", home], { shell: `umask ${umask}; exec "$@"` }));
      endedWith(0, await ask(["ps", "--home", home]));
    }
    const isOwnGroup = process.getgid?.() === process.getuid?.();
    await withMode("commands", 0o775, async () => {
      endedWith(isOwnGroup ? 0 : 1, await ask(["commands"]));
    });
  });
});

it("a daemon's output file that is a link is named in a sentence, and nothing is written through it", async () => {
  const target = join(goald.cwd, "target");
  await writeFile(target, "mine");
  await mkdir(at(".goald/log"), { recursive: true });
  await symlink(target, at(".goald/log/daemon.out"));
  const { code, message } = errorOf(endedWith(4, await ask(["up"])));
  expect({ code, message }).toEqual({
    code: "GOALD_DAEMON",
    message: `The daemon cannot start: its output file ${at(".goald/log/daemon.out")} is a link.`,
  });
  expect(await readFile(target, "utf8")).toBe("mine");
  await rm(at(".goald/log/daemon.out"));
});

// Only root can give files away.
describe.each(process.getuid?.() === 0 ? [1001] : [])("a home of the user with id %d", (other) => {
  it.each(["", ".goald", "commands", "prompts", "config", ".env", "commands/own.ts"])(
    "is refused if %s belongs to them, also when root runs goald",
    async (path) => {
      await chown(at(path), other, 0);
      const reason = `belongs to the user with id ${other}, not to you (0)`;
      await expectRefused(await ask(["commands"]), reason, "chown -h 0 ");
      await chown(at(path), 0, 0);
    },
  );

  it("is refused for a group that has other members", async () => {
    await chown(at("commands"), 0, other);
    await withMode("commands", 0o775, async () => {
      await expectRefused(await ask(["commands"]), "can be written by others (mode 775)", "chmod go-w ");
    });
    await chown(at("commands"), 0, 0);
  });

  it("lets doctor, --help, --version and completion run, and loads nothing", async () => {
    await writeFile(at("commands/own.ts"), COMMAND);
    await chown(at("commands"), other, 0);
    for (const args of ["doctor", "--help", "--version", "completion bash"])
      endedWith(args === "doctor" ? 1 : 0, await goald.ask(args, { env: { RAN: ran } }));
    expect(await hasRun()).toBe(false);
    await chown(at("commands"), 0, 0);
  });
});

const modeOf = async (path: string): Promise<number> => (await stat(path)).mode & 0o777;
const trusted = async ({ userHome }: Goald): Promise<string | undefined> =>
  readFile(join(userHome, ".config", "goald", "trusted.json"), "utf8").catch(() => undefined);

describe("goald init", () => {
  it("creates a home with private files, and names it in the next steps", async () => {
    await using goald = await makeGoald();
    const folder = join(goald.cwd, "new", "home");
    const { stdout, stderr } = endedWith(0, await goald.ask(["init", folder]));
    expect(stderr).toBe("");
    expect(stdout).toContain(`  goald run --from "${folder}/config/example-agent.yaml" --home "${folder}"\n`);
    expect(await modeOf(join(folder, ".env"))).toBe(0o600);
    expect(await modeOf(join(folder, ".goald"))).toBe(0o700);
    expect((await readAgentFile(join(folder, "config", "example-agent.yaml"))).notes).toEqual([]);
    expect(await readFile(join(folder, ".gitignore"), "utf8")).toBe(".env\n.goald/\nworkspace/\n");
  });

  it("leaves every setting at its default", async () => {
    await using goald = await makeGoald();
    const untouched = await goald.print("config --all --json");
    endedWith(0, await goald.ask("init"));
    expect(await goald.print("config --all --json")).toBe(untouched);
  });

  it("creates missing files, keeps existing ones, even a link, and names what a repository would include", async () => {
    await using goald = await makeGoald();
    await goald.write("README.md", "# Somebody's project\n");
    await goald.write(".gitignore", "node_modules\n/.goald/\n");
    await symlink(join(goald.cwd, "elsewhere"), join(goald.home, ".env"));
    const { stdout, stderr } = endedWith(0, await goald.ask("init --json"));
    expect(JSON.parse(stdout)).toMatchObject({ kept: [".env", "README.md", ".gitignore"] });
    expect(stderr).toContain(`Keep keys out of repositories: add .env to ${goald.home}/.gitignore.\n`);
    expect(await goald.read("README.md")).toBe("# Somebody's project\n");
    await expect(stat(join(goald.cwd, "elsewhere"))).rejects.toMatchObject({ code: "ENOENT" });
  });
});

describe("goald init in an unsuitable place", () => {
  it("refuses a folder that agents write in (exit 2), under any path to it", async () => {
    await using goald = await makeGoald();
    endedWith(0, await goald.ask("init"));
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
    const { stderr } = endedWith(0, await goald.ask("init workspace/mine"));
    expect(stderr).toMatch(/below a folder called workspace by itself\. Name this one with --home/);
  });

  it.each<[title: string, args: readonly string[], code: number, message: RegExp]>([
    ["two folders", ["init", "a", "--home", "b"], 2, /one as an argument and one with --home/],
    ["an empty name", ["init", " "], 2, /name a folder, got " "/],
    ["a folder that cannot be made", ["init", "/proc/goald"], 1, /cannot be used/],
  ])("refuses %s", async (_title, args, code, message) => {
    await using goald = await makeGoald();
    const { stderr, stdout } = endedWith(code, await goald.ask(args));
    expect(stderr).toMatch(message);
    expect(stdout).toBe("");
  });
});

describe("the trust that goald init records", () => {
  it.each([".goald/", "commands/spy.ts", ".env"])("does not cover a folder that held %s before", async (path) => {
    await using goald = await makeGoald();
    const planted = join(goald.cwd, "theirs", path);
    await mkdir(dirname(planted), { recursive: true });
    await (path.endsWith("/") ? mkdir(planted) : writeFile(planted, ""));
    const { stderr } = endedWith(0, await goald.ask("init theirs"));
    expect(stderr).toContain("goald asks once");
    expect(await trusted(goald)).toBeUndefined();
  });

  it("is reported if it cannot be stored, and the home exists anyway", async () => {
    await using goald = await makeGoald();
    await writeFile(join(goald.userHome, ".config"), "a file in the way");
    const { stderr } = endedWith(0, await goald.ask("init mine"));
    expect(stderr).toMatch(/Your trust in .*mine could not be recorded/);
    expect(await modeOf(join(goald.cwd, "mine", ".goald"))).toBe(0o700);
  });
});
