import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { chmod, chown, mkdir, readFile, rename, rm, stat, symlink, utimes, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { VERB_NAMES } from "../../src/cli/verb-list.ts";
import { type Ended, endedWith, errorOf, type Goald, makeGoald } from "../helpers/goald.ts";

/** A recording of nothing. */
const RECORDING = join(mkdtempSync(join(tmpdir(), "goald-owners-")), "recording.ndjson");
writeFileSync(
  RECORDING,
  `${[
    { recording: 1, goald: "0.1.0" },
    {
      ...{
        type: "session",
        agent: { id: "t", createdAt: "2026-01-01T00:00:00.000Z" },
        name: "T",
        role: "r",
        goals: ["g"],
      },
      ...{ given: {}, epoch: 1, head: 1, settings: {}, catalogue: "", files: [] },
    },
    { type: "committed", head: 1, state: "" },
  ]
    .map((line) => JSON.stringify(line))
    .join("\n")}\n`,
);
const COMMAND = `import { writeFileSync } from "node:fs";
writeFileSync(process.env.RAN, "");
export default { name: "own", label: "Own", summary: "does nothing.", args: { type: "object", properties: {} },
  annotations: { readOnly: true, destructive: false, idempotent: true, openWorld: false }, effect: "pure",
  async run() { return { status: "ok", text: "", source: "goald", artifacts: [] }; } };`;

/** Arguments with which a verb gets as far as its home; absent for verbs that take none. */
const ARGUMENTS: Readonly<Record<string, readonly string[]>> = {
  run: ["--name", "T", "--role", "r", "--goal", "g"],
  replay: [RECORDING],
  test: [join(import.meta.dirname, "../../config/example-agent.yaml")],
  say: ["t", "x"],
  trust: ["t", "all"],
  goals: ["t"],
  plan: ["t"],
  fork: ["t", "--step", "1"],
  why: ["t", "f"],
  restore: ["t", "--step", "1"],
  diff: ["t"],
  ingest: ["t", "f"],
  "memory add": ["t", "x"],
  "memory import": ["t", "f"],
  "memory search": ["t", "x"],
  "memory show": ["t", "m1"],
  "memory why": ["t", "m1"],
  "memory correct": ["t", "m1", "x"],
  "memory pin": ["t", "m1"],
  "memory unpin": ["t", "m1"],
  "memory forget": ["t", "m1"],
  "memory list": ["t"],
  "memory export": ["t"],
  "new command": ["x"],
  config: ["models.temperature", "1"],
  backup: ["to"],
  plain: [],
};
const OF_AGENT = /^(?:resume|attach|show|report|approve|deny|pause|stop|kill|rm|files|events)$/;
/** They load nothing from the home, or report its faults. */
const FREE = new Set(["doctor", "init", "completion", "complete", "memory", "config", "new", "plain", "help"]);

let goald: Goald;
let ran: string;
afterAll(() => rmSync(dirname(RECORDING), { recursive: true }));
beforeAll(async () => {
  goald = await makeGoald({ OPENAI_BASE_URL: "http://127.0.0.1:9/v1" });
  ran = join(goald.cwd, "ran");
  endedWith(0, await goald.ask(["init"]));
  await goald.write("commands/own.ts", COMMAND);
  await goald.write("commands/lib/part.ts", "export {};\n");
  await goald.write("prompts/system.md", "");
  await rm(join(goald.home, "prompts/system.md"));
});
afterAll(async () => goald[Symbol.asyncDispose]());

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
        const words = name.split(" ");
        const args = OF_AGENT.test(name) ? ["t"] : (ARGUMENTS[name] ?? []);
        // `memory` has the agent between its words.
        const [first = "", ...rest] = args;
        const call = words[0] === "memory" ? [words[0], first, words[1] as string, ...rest] : [...words, ...args];
        const ended = await ask(call);
        const code = ended.stderr.startsWith("{") ? errorOf(ended).code : ended.stderr;
        expect({ call, code }).toEqual({ call, code: "GOALD_HOME_UNTRUSTED" });
        await expectRefused(
          ended,
          `${at("commands")} can be written by others (mode 777).`,
          `chmod go-w '${at("commands")}'`,
        );
      }
    });
  });

  it.each(["", ".goald", "prompts", "config", ".env", "commands/own.ts", "commands/lib", "commands/lib/part.ts"])(
    "is refused for %s",
    async (path) => {
      await withMode(path, ((await stat(at(path))).mode & 0o7777) | 0o002, async () => {
        await expectRefused(await ask(["commands"]), `${path} can be written by others`, "chmod go-w ");
        expect(endedWith(1, await ask(["doctor"])).stdout).toMatch(/ (?:can be|is open to) /);
        expect(await hasRun()).toBe(false);
      });
      endedWith(0, await ask(["commands"]));
    },
  );

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

describe("an output file of the daemon that is a link", () => {
  it("is named in a sentence, and nothing is written through it", async () => {
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
});

// Only root can give files away.
describe.each(process.getuid?.() === 0 ? [1001] : [])("a home of the user with id %d", (other) => {
  it.each(["", ".goald", "commands", "prompts", "config", ".env", "commands/own.ts"])(
    "is refused if %s belongs to them, also when root runs goald",
    async (path) => {
      await chown(at(path), other, 0);
      await expectRefused(
        await ask(["commands"]),
        `belongs to the user with id ${other}, not to you (0)`,
        "chown -h 0 ",
      );
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
    for (const [args, code] of [
      [["doctor"], 1],
      [["--help"], 0],
      [["--version"], 0],
      [["completion", "bash"], 0],
    ] as const)
      endedWith(code, await goald.ask(args, { env: { RAN: ran } }));
    expect(await hasRun()).toBe(false);
    await chown(at("commands"), 0, 0);
  });
});
