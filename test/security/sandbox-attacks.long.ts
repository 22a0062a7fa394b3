/**
 * sandbox-attacks.long.ts -- hostile cells, strict and degraded, with all imports allowed, so that only the walls are
 * tested.
 *
 * Rows of files, shells and git in attacks.json belong to suites of the workspace and of git.
 */
import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import {
  existsSync,
  linkSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { createServer, type Server } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { monitorEventLoopDelay } from "node:perf_hooks";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { createSandbox } from "#app/sandbox.ts";
import { probeCage } from "#cage/find-cage.ts";
import { isGoaldError } from "#core/errors.ts";
import type { CellBridge, CellFile, CellOutcome, CellReply, Sandbox, SavedNamespace } from "#core/ports/sandbox.ts";
import { openLocalWorkspace } from "#workspace/local-workspace.ts";
import { findLevelsHere } from "../helpers/cage-levels.ts";
import { cellOf } from "../helpers/fake-sandbox.ts";
import { cellFunction } from "../helpers/python-process.ts";

interface Attack {
  readonly id: string;
  readonly language: string;
  readonly code: string;
  readonly must: string;
}
/** A long code is stored in pieces, some of which are repeated. */
type StoredCode = string | readonly (string | { readonly text: string; readonly times: number })[];
type StoredAttack = Omit<Attack, "code"> & { readonly code: StoredCode };
const joinCode = (code: StoredCode): string =>
  typeof code === "string"
    ? code
    : code.map((piece) => (typeof piece === "string" ? piece : piece.text.repeat(piece.times))).join("");
const readRows = (name: string): readonly Attack[] => {
  const rows = JSON.parse(readFileSync(new URL(`../data/${name}`, import.meta.url), "utf8")) as StoredAttack[];
  return rows.map((row) => ({ ...row, code: joinCode(row.code) }));
};
const ROWS = [...readRows("attacks.json"), ...readRows("more_attacks.json")];

const TIME_LIMIT_MS = 1_500;
/** Python's start is part of a cell's time. */
const HARMLESS_LIMIT_MS = 30_000;
const MAX_CALLS = 1_000;
const MAX_DEPTH = 8;
/** The aim is 100 ms. Code that blocks the host, or is not stopped, takes much longer than a busy machine does. */
const MAX_LATE_MS = 10_000;
const MAX_DELAY_MS = 10_000;
const CONTROLS = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/;

for (const level of findLevelsHere().filter((one) => one !== "off"))
  describe(`attacks in Python, in a cage that is ${level}`, () => {
    const attacks = ROWS.filter((row) => row.language === "python");
    const delays = monitorEventLoopDelay({ resolution: 5 });
    const late: number[] = [];
    let ground: AttackGround;
    let sandbox: Sandbox;
    let saved: SavedNamespace | null = null;
    let [count, calls, depth] = [0, 0, 0];

    beforeAll(async () => {
      ground = await openAttackGround();
      const findCage = () => probeCage({ atMost: level });
      sandbox = createSandbox({ findCage, cacheFolder: ground.fill("{{OUT}}-cache"), memoryMegabytes: 256 });
      delays.enable();
    });
    afterAll(async () => {
      await sandbox.close();
      await ground.close();
    });

    const run = async (code: string, timeLimitMs = TIME_LIMIT_MS): Promise<CellOutcome> => {
      count += 1;
      const own = { agent: "mallory", name: `cell c${count}`, version: `c${count}`, seed: count };
      const functions = [cellFunction("echo", "value")];
      const cell = cellOf(code, { ...own, saved, timeLimitMs, functions, imports: "all" });
      const outcome = await sandbox.run(cell, host(), new AbortController().signal);
      saved = outcome.saved ?? saved;
      return outcome;
    };
    const host = (): CellBridge => ({
      ...ground.files,
      call: async (_name, args) => {
        calls += 1;
        if (calls > MAX_CALLS)
          return { error: { code: "too-many-calls", text: "Too many calls." }, changesFiles: false };
        return { value: Object.values(args)[0] ?? null, changesFiles: false };
      },
      run: async (task) => {
        if (!task.includes("recurse")) return { value: "ok" };
        if (depth === MAX_DEPTH) return { error: { code: "too-deep", text: "Too deep." } };
        depth += 1;
        const inner = await run("agent.run('recurse forever')");
        depth -= 1;
        return inner.kind === "done" ? { value: "ok" } : { error: { code: "failed", text: inner.problem.message } };
      },
    });

    it.each(attacks)("$id: $must", async ({ code }) => {
      calls = 0;
      delays.reset();
      const outcome = await run(ground.fill(code));
      if (outcome.kind === "failed" && outcome.problem.message.includes("ran longer"))
        late.push(outcome.durationMs - TIME_LIMIT_MS);
      const { saved: _, ...told } = outcome;
      const text = JSON.stringify(told);
      expect(text).not.toContain(ground.secret);
      expect(text).not.toContain("root:x:0");
      expect(readable(outcome)).not.toMatch(CONTROLS);
      expect(text.length).toBeLessThan(400_000);
      expect(ground.findHarm()).toEqual([]);
      expect(delays.max / 1e6).toBeLessThan(MAX_DELAY_MS);
      expect(await run("20 + 22", HARMLESS_LIMIT_MS)).toMatchObject({ kind: "done", value: { json: 42 } });
      expect(ground.findHarm()).toEqual([]);
    });

    it("stops code in time", () => {
      expect(Math.max(...late)).toBeLessThan(MAX_LATE_MS);
    });
  });

/** All that a person or a model reads of it. */
function readable(outcome: CellOutcome): string {
  const { output, lost } = outcome;
  const rest = outcome.kind === "done" ? [outcome.value?.text] : Object.values(outcome.problem).map(String);
  return [output, ...rest, ...lost.flatMap(({ name, reason }) => [name, reason])].join(" ").replaceAll("\n", " ");
}

it("the attack ground sees what an attack does", async () => {
  const ground = await openAttackGround();
  const { port } = JSON.parse(ground.fill('{"port":{{PORT}}}')) as { readonly port: number };
  await fetch(`http://127.0.0.1:${port}/`).then((answer) => answer.text());
  expect(ground.findHarm()).toEqual(["something connected to this machine"]);
  process.kill(Number(ground.fill("{{DECOY}}")), "SIGKILL");
  await new Promise((resolve) => setTimeout(resolve, 200));
  expect(ground.findHarm()).toEqual(["another process was killed"]);
  await ground.close();
});

// A folder of an agent with planted links, secrets beside it, listeners on loopback, and a process that an attack might
// kill. `findHarm` tells what an attack did outside.

type AttackGround = Awaited<ReturnType<typeof openAttackGround>>;

async function openAttackGround() {
  const root = mkdtempSync(join(tmpdir(), "goald-attack-"));
  const secret = `secret-${randomUUID()}`;
  const [folder, outside] = [join(root, "ws"), join(root, "outside")];
  for (const made of [folder, outside]) mkdirSync(made);
  for (const name of [".env", "goald.db"]) writeFileSync(join(outside, name), secret);
  writeFileSync(join(outside, "canary"), "canary");
  symlinkSync(join(outside, ".env"), join(folder, "planted"));
  symlinkSync(outside, join(folder, "planteddir"));
  symlinkSync(join(outside, "notyet"), join(folder, "dangling"));
  linkSync(join(outside, "goald.db"), join(folder, "hardlinked"));
  execFileSync("mkfifo", [join(folder, "afifo")]);
  const before = describeFolder(outside);
  let connections = 0;
  const listen = async (server: Server, ...at: readonly unknown[]): Promise<Server> => {
    server.on("connection", (socket) => {
      connections += 1;
      socket.on("error", () => undefined);
      socket.end(`HTTP/1.0 200 OK\r\n\r\n${secret}`, () => socket.destroy());
    });
    await new Promise<void>((resolve) => Reflect.apply(server.listen, server, [...at, () => resolve()]));
    return server;
  };
  const tcp = await listen(createServer(), 0, "127.0.0.1");
  // An abstract socket: reachable without a file.
  const abstract = await listen(createServer(), `\0goald-attack-${secret}`);
  const decoy: ChildProcess = spawn("sleep", ["3600"], { stdio: "ignore" });
  const { port } = tcp.address() as { readonly port: number };
  return {
    secret,
    /** Replaces `{{OUT}}`, `{{PORT}}`, `{{PPID}}` and `{{DECOY}}`. */
    fill: (code: string) =>
      code
        .replaceAll("{{OUT}}", outside)
        .replaceAll("{{PORT}}", `${port}`)
        .replaceAll("{{PPID}}", `${process.pid}`)
        .replaceAll("{{DECOY}}", `${decoy.pid}`),
    files: openFiles(folder),
    /** What happened outside since the last call, in words. */
    findHarm() {
      const harm = [
        ...(describeFolder(outside) === before ? [] : ["a file outside was changed"]),
        ...(connections > 0 ? ["something connected to this machine"] : []),
        ...(decoy.exitCode === null && decoy.signalCode === null ? [] : ["another process was killed"]),
        ...(existsSync(folder) ? [] : ["the agent's folder is gone"]),
        ...(Object.hasOwn(Object.prototype, "polluted") ? ["an object of the host was changed"] : []),
      ];
      connections = 0;
      return harm;
    },
    async close() {
      decoy.kill("SIGKILL");
      await Promise.all([tcp, abstract].map((server) => new Promise((resolve) => server.close(resolve))));
      rmSync(root, { recursive: true });
    },
  };
}

const describeFolder = (folder: string): string =>
  readdirSync(folder)
    .sort()
    .map((name) => {
      const path = join(folder, name);
      return lstatSync(path).isFile() ? `${name} ${statSync(path).mode} ${readFileSync(path, "utf8")}` : name;
    })
    .join("\n");

/** At most so many files of a folder are listed. */
const MAX_LISTED = 10_000;

/** The files of a cell, by the agent's own workspace. */
function openFiles(folder: string): Pick<CellBridge, "listFiles" | "readFile" | "saveFiles"> {
  const workspace = openLocalWorkspace(folder);
  const reply = async <T>(work: () => Promise<T>): Promise<CellReply<T>> => {
    try {
      return { value: await work() };
    } catch (error) {
      if (!isGoaldError(error)) throw error;
      return { error: { code: error.code, text: error.message } };
    }
  };
  return {
    async listFiles() {
      const files: CellFile[] = [];
      for await (const { path, bytes, modifiedAt } of workspace.list("")) {
        if (files.length === MAX_LISTED) return { files, isComplete: false };
        files.push({ path, bytes, stamp: modifiedAt });
      }
      return { files, isComplete: true };
    },
    readFile: (path) => reply(() => workspace.read(path)),
    saveFiles: (changes) =>
      reply(async () => {
        for (const { path, bytes } of changes)
          if (bytes) await workspace.write(path, bytes);
          else await workspace.remove(path);
        return null;
      }),
  };
}
