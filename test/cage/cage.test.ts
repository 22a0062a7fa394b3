import { spawnSync } from "node:child_process";
import { mkdirSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import type { Cage, CagedCommand } from "#cage/cage.ts";
import { findCage, probeCage } from "#cage/find-cage.ts";
import { nodeCommand, type ProgramSight } from "#cage/node-program.ts";
import { findLevelsHere } from "../helpers/cage-levels.ts";
import { useSharedFolder } from "../helpers/folder.ts";
import { waitUntil } from "../helpers/waits.ts";
import { listProcesses } from "./processes.ts";

const levels = findLevelsHere();
const limited = levels.filter((level) => level !== "off");
const INSIDE = new URL("./inside.child.ts", import.meta.url);
const OF_CORE = fileURLToPath(new URL("../../src/core/event.ts", import.meta.url));
const server = createServer((socket) => socket.destroy());
const folder = useSharedFolder();
const secret = join(folder, "secret");

beforeAll(async () => {
  writeFileSync(secret, "of the home");
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
});
afterAll(() => {
  server.close();
});

const port = (): string => String((server.address() as { port: number }).port);

/** The caged program without node's permission model, so that only the walls of the system are tested. */
const withoutPermissions = (command: CagedCommand): CagedCommand => ({
  ...command,
  args: command.args.filter((arg) => arg !== "--permission" && !arg.startsWith("--allow-fs-")),
});
/** What the caged program reports; it is given a file to read. `sees`: of goald, only what is named. */
const inside = (file: string, sees?: ProgramSight): CagedCommand => {
  const stdio = ["ignore", "pipe", "pipe"] as const;
  const limits = { memoryMegabytes: 128, cpuSeconds: 30 };
  const command = nodeCommand({ program: INSIDE, ...limits, stdio, ...(sees && { sees }) });
  return { ...command, args: [...command.args, port(), file] };
};
const shell = (script: string, more: Partial<CagedCommand> = {}): CagedCommand => ({
  command: "/bin/sh",
  args: ["-c", script],
  readOnly: [],
  writable: [folder],
  folder,
  network: "none",
  runsPrograms: true,
  limits: { memoryMegabytes: 256, cpuSeconds: 20, fileMegabytes: 20, openFiles: 64 },
  stdio: ["ignore", "pipe", "pipe"],
  ...more,
});

async function runIn(cage: Cage, command: CagedCommand) {
  const { child, ended } = cage.spawn(command);
  if (!child.stdout || !child.stderr) throw new Error("Expected pipes.");
  const [output, errors, end] = await Promise.all([text(child.stdout), text(child.stderr), ended]);
  return { output, errors, end };
}
const report = async (cage: Cage, command: CagedCommand) => {
  const { output, errors } = await runIn(cage, command);
  if (output === "") throw new Error(errors);
  return JSON.parse(output) as Record<string, unknown>;
};

describe("the probe", () => {
  it("has a strict cage on this machine, or says why not, and runs once per process", async () => {
    const cage = await findCage();
    expect(await findCage()).toBe(cage);
    const { level, reason, advice } = cage;
    expect(reason).not.toBe("");
    expect(advice).toMatch(level === "strict" ? /^$/ : /\w\.$/);
  });

  it("says what is missing, and what to do", async () => {
    const found = (path: string) => probeCage({ path });
    expect(await found("/nowhere")).toMatchObject({ level: "off", reason: expect.stringContaining("prlimit") });
    const broken = join(folder, "bin");
    mkdirSync(broken);
    symlinkSync("/usr/bin/prlimit", join(broken, "prlimit"));
    expect(await found(broken)).toMatchObject({
      level: "degraded",
      reason: "bubblewrap is not installed.",
      advice: expect.stringContaining("apt install bubblewrap"),
    });
    const refusal = "No permissions to create new namespace";
    writeFileSync(join(broken, "bwrap"), `#!/bin/sh\necho 'bwrap: ${refusal}' >&2; exit 1\n`, { mode: 0o755 });
    expect(await found(broken)).toMatchObject({
      level: "degraded",
      reason: expect.stringContaining(refusal),
      advice: expect.stringContaining("namespaces"),
    });
  });
});

if (levels.includes("strict"))
  describe("a strict cage", () => {
    it("shows no file of the machine, no process, no environment and no network", async () => {
      const seen = await report(await findCage(), withoutPermissions(inside(secret)));
      expect(seen).toEqual({
        // bubblewrap names the working folder.
        environment: ["PWD"],
        passwd: "ENOENT",
        outside: "ENOENT",
        processes: "ENOENT",
        child: "EPERM",
        written: "EFBIG",
        network: "EPERM",
      });
    });

    it("starts no further process for a command that runs no programs, also for root", async () => {
      // Bounded, because a real fork bomb would end the machine when the cage fails.
      const bomb = shell("i=0; while [ $i -lt 20 ]; do sleep 1 & i=$((i+1)); done; wait", {
        runsPrograms: false,
        readOnly: ["/bin", "/lib", "/lib64", "/usr"],
      });
      expect(await runIn(await probeCage(), bomb)).toMatchObject({ errors: expect.stringContaining("annot fork") });
    });
  });

it("no cage lets the same program read, start and connect: the tests of a strict cage can fail", async () => {
  const seen = await report(await probeCage({ atMost: "off" }), withoutPermissions(inside(secret)));
  expect(seen).toMatchObject({
    passwd: expect.stringContaining("done"),
    outside: "done: of the home",
    processes: expect.stringContaining("done"),
    child: expect.stringContaining("done"),
    network: "connected",
  });
});

it("a degraded cage has no environment, and node refuses files and processes", async () => {
  const seen = await report(await probeCage({ atMost: "degraded" }), inside(secret));
  expect(seen).toMatchObject({
    environment: [],
    passwd: "ERR_ACCESS_DENIED",
    outside: "ERR_ACCESS_DENIED",
    processes: "ERR_ACCESS_DENIED",
    child: "ERR_ACCESS_DENIED",
  });
});

if (limited.length > 0)
  describe.each(limited)("goald's own files in a %s cage", (atMost) => {
    it("are those that the program needs", async () => {
      const cage = await probeCage({ atMost });
      const outside = async (sees: ProgramSight) => (await report(cage, inside(OF_CORE, sees))).outside;
      const hidden = /^(ENOENT|ERR_ACCESS_DENIED)$/;
      expect(await outside({ sources: ["cage/frames"], packages: ["pino"] })).toMatch(hidden);
      expect(await outside({ sources: ["core"], packages: ["none-of-this-name"] })).toMatch(/^done/);
    });
  });

describe.each(limited)("a program in a %s cage", (atMost) => {
  it("gets only the environment that it is given", async () => {
    const cage = await probeCage({ atMost });
    const { output } = await runIn(cage, shell("env", { environment: { NAME: "value" } }));
    expect(output.split("\n").filter((line) => !/^(PWD|OLDPWD|SHLVL|_)=/.test(line))).toEqual(["NAME=value", ""]);
  });

  it("is stopped by the limits of files and processor time", async () => {
    const cage = await probeCage({ atMost });
    const large = await runIn(cage, shell("exec dd if=/dev/zero of=large bs=1M count=10000"));
    expect(large.end.signal ?? large.errors).toMatch(/SIGXFSZ|too large/);
    expect(statSync(join(folder, "large")).size).toBe(20 << 20);
    const limits = { memoryMegabytes: 256, cpuSeconds: 1, fileMegabytes: 1, openFiles: 64 };
    const busy = await runIn(cage, shell("while :; do :; done", { limits }));
    expect(busy.end.signal).toMatch(/SIGKILL|SIGXCPU/);
  });

  it("is killed with all that it started", async () => {
    const cage = await probeCage({ atMost });
    const { child, kill, ended } = cage.spawn(shell("sleep 1000.25 & sleep 1000.25 & echo started; wait"));
    await new Promise((resolve) => child.stdout?.once("data", resolve));
    const sleepers = () =>
      listProcesses().filter(({ args: [program, time] }) => program === "sleep" && time === "1000.25");
    await waitUntil("both run", () => sleepers().length === 2);
    kill();
    expect(await ended).toMatchObject({ signal: "SIGKILL" });
    await waitUntil("the group ended", () => sleepers().length === 0);
  });
});

it("ends with the cause and what to do when a process may not be started, because no file can be opened for it", () => {
  const script = `
    import { openSync } from "node:fs";
    import { spawnCaged } from "#cage/cage.ts";
    import { CagedProgram } from "#cage/conversation.ts";
    const cage = { spawn: (command) => spawnCaged({}, command) };
    try { for (;;) openSync("/dev/null"); } catch {}
    const parts = { program: new URL("${INSIDE}"), memoryMegabytes: 1, cpuSeconds: 1 };
    const { ended, conversation } = new CagedProgram(cage, parts, {}, { speaksFirst: true });
    console.log((await ended).error.message, await conversation.next());`;
  const call = ["-c", 'ulimit -n 64 && exec "$0" --input-type=module -e "$1"', process.execPath, script];
  const { stdout } = spawnSync("/bin/sh", call, { encoding: "utf8" });
  expect(stdout).toMatch(/^spawn \S+ EMFILE\. Raise the limit of open files .* undefined\n$/);
});
