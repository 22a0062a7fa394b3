import { chmod, copyFile, mkdir, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "@jest/globals";
import { daemonOf } from "../helpers/daemon.ts";
import { endedWith, type Goald, makeGoald, type StartOptions } from "../helpers/goald.ts";

const KEY = "sk-secret-0123456789abcdef";
const SERVER = { OPENAI_BASE_URL: "http://127.0.0.1:9/v1" };

interface Report {
  readonly errors: number;
  readonly warnings: number;
  readonly findings: readonly { check: string; level: string; text: string; advice: string }[];
  readonly repaired: readonly { text: string }[];
}

async function examine(goald: Goald, code: number, args: readonly string[] = [], env: StartOptions["env"] = {}) {
  const ended = endedWith(code, await goald.ask(["doctor", "--json", ...args], { env }));
  return JSON.parse(ended.stdout) as Report;
}
const levelOf = ({ findings }: Report, check: string): readonly string[] =>
  findings.filter((finding) => finding.check === check).map(({ level }) => level);
const textOf = ({ findings }: Report, check: string): string =>
  findings
    .filter((finding) => finding.check === check)
    .map(({ text, advice }) => `${text} ${advice}`)
    .join("\n");
const modeOf = async (path: string): Promise<number> => (await stat(path)).mode & 0o777;

describe("goald doctor", () => {
  it("finds files that other users can read or write, and closes them with --fix", async () => {
    await using goald = await makeGoald(SERVER);
    await goald.write(".env", "A=b\n", 0o644);
    endedWith(0, await goald.ask(["ps"]));
    await using daemon = daemonOf(goald);
    endedWith(0, await goald.ask(["up"]));
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
    expect(
      await Promise.all([".env", ".goald", ".goald/goald.db", "commands"].map((path) => modeOf(at(path)))),
    ).toEqual([0o600, 0o700, 0o600, 0o755]);
    expect(daemon.isHeld()).toBe(true);
  });

  it("distinguishes a daemon that runs, died, or was stopped", async () => {
    await using goald = await makeGoald(SERVER);
    await using daemon = daemonOf(goald);
    endedWith(0, await goald.ask(["up"]));
    const running = await examine(goald, 0);
    expect(textOf(running, "daemon")).toContain(`runs (pid ${daemon.pid()}, goald `);
    await daemon.kill();
    await writeFile(join(goald.home, ".goald", "log", "daemon.out"), "first\nFATAL ERROR: \u001b[31mno memory\n");
    const died = await examine(goald, 1);
    expect(textOf(died, "daemon")).toContain("it died. Its last words: FATAL ERROR: ");
    expect(textOf(died, "daemon")).toContain("goald up");
    const shown = endedWith(1, await goald.ask(["doctor"]));
    expect(shown.stdout).toContain("FATAL ERROR: no memory");
    endedWith(0, await goald.ask(["up"]));
    endedWith(0, await goald.ask(["down"]));
    expect(levelOf(await examine(goald, 0), "daemon")).toEqual(["ok"]);
  });

  it("finds the socket of a killed daemon and removes it with --fix, but never a live one", async () => {
    await using goald = await makeGoald(SERVER);
    await using daemon = daemonOf(goald);
    const socket = join(goald.home, ".goald", "daemon.sock");
    endedWith(0, await goald.ask(["up"]));
    expect((await examine(goald, 0, ["--fix"])).repaired).toEqual([]);
    expect((await stat(socket)).isSocket()).toBe(true);
    await daemon.kill();
    expect(levelOf(await examine(goald, 1), "socket")).toEqual(["warning"]);
    expect((await examine(goald, 1, ["--fix"])).repaired).toMatchObject([{ text: expect.stringContaining(socket) }]);
    await expect(stat(socket)).rejects.toMatchObject({ code: "ENOENT" });
  });

  it("does not take the daemon of a home for that of its copy, and keeps its socket", async () => {
    await using goald = await makeGoald(SERVER);
    await using daemon = daemonOf(goald);
    endedWith(0, await goald.ask(["up"]));
    const copy = join(goald.home, "copy");
    await mkdir(join(copy, ".goald"), { recursive: true, mode: 0o700 });
    await copyFile(join(goald.home, ".goald", "daemon.json"), join(copy, ".goald", "daemon.json"));
    const inCopy = { env: { GOALD_HOME: copy } };
    const { findings, repaired } = await examine(goald, 0, ["--fix"], inCopy.env);
    expect([findings.filter(({ check }) => check === "socket"), repaired]).toEqual([[], []]);
    endedWith(4, await goald.ask(["down"], inCopy));
    expect(JSON.parse(endedWith(0, await goald.ask(["status", "--json"])).stdout)).toMatchObject({ pid: daemon.pid() });
  });

  it("names the variables that this shell has and the daemon lacks, without their values", async () => {
    await using goald = await makeGoald(SERVER);
    await using _daemon = daemonOf(goald);
    endedWith(0, await goald.ask(["up"]));
    expect(levelOf(await examine(goald, 0), "environment")).toEqual([]);
    const report = await examine(goald, 0, [], { OPENAI_API_KEY: KEY });
    expect(levelOf(report, "environment")).toEqual(["warning"]);
    expect(textOf(report, "environment")).toContain("OPENAI_API_KEY");
    expect(textOf(report, "environment")).not.toContain("OPENAI_BASE_URL");
    expect(JSON.stringify(report)).not.toContain(KEY);
  });
});
