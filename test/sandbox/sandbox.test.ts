import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { afterEach, describe, expect, it } from "@jest/globals";
import { createSandbox, type SandboxOptions } from "#app/sandbox.ts";
import { findCage } from "#cage/find-cage.ts";
import type { CellBridge, Sandbox, SavedNamespace } from "#core/ports/sandbox.ts";
import { hasPyodide } from "#sandbox/python-files.ts";
import { listProcesses } from "../cage/processes.ts";
import { describeSandbox, NOTHING_HERE } from "../contracts/sandbox.ts";
import { cellOf, createFakeSandbox } from "../helpers/fake-sandbox.ts";
import { useSharedFolder } from "../helpers/folder.ts";
import { cellFunction, FAKE_CELLS } from "../helpers/python-process.ts";
import { collectGarbage, waitUntil } from "../helpers/waits.ts";

// The contract of the real sandbox is in sandbox.long.ts.
describeSandbox("the fake sandbox", () => createFakeSandbox(FAKE_CELLS, { maxProcesses: 2 }));

const { signal } = new AbortController();
const cacheFolder = useSharedFolder();
let sandbox: Sandbox;
let number = 0;
const open = (options: Partial<SandboxOptions> = {}): void => {
  sandbox = createSandbox({ findCage, cacheFolder, ...options });
};

const functions = [cellFunction("pause")];
const run = (agent: string, code: string, saved: SavedNamespace | null = null, host: Partial<CellBridge> = {}) =>
  sandbox.run(cellOf(code, { agent, version: `c${++number}`, saved, functions }), { ...NOTHING_HERE, ...host }, signal);
async function resultOf(...given: Parameters<typeof run>): Promise<unknown> {
  const outcome = await run(...given);
  if (outcome.kind !== "done") throw new Error(outcome.problem.message);
  return outcome.value?.json;
}

const waitForPids = (count: number): Promise<void> =>
  waitUntil(`${count} processes`, () => guestPids().length === count);

describe("the processes of cells", () => {
  afterEach(() => sandbox.close());

  it("start with the first cell, with one spare after it, and end when nothing runs for a while", async () => {
    open({ idleMs: 1_500 });
    expect(guestPids()).toEqual([]);
    const { saved } = await run("alice", "x = 41");
    const [first] = guestPids();
    await waitForPids(2);
    await waitForPids(0);
    expect(await resultOf("alice", "x + 1", saved)).toBe(42);
    expect(guestPids()).not.toContain(first);
  });

  it("keep no place when one could not be started", async () => {
    let failures = 1;
    const failing = async () => {
      const cage = await findCage();
      const spawn: typeof cage.spawn = (command) => {
        if (command.args.some((arg) => arg.endsWith("/guest.ts")) && failures-- > 0) throw new Error("spawn ENOMEM");
        return cage.spawn(command);
      };
      return { ...cage, spawn };
    };
    open({ findCage: failing, maxProcesses: 1 });
    await expect(run("alice", "1")).rejects.toThrow("ENOMEM");
    expect(await resultOf("alice", "1")).toBe(1);
  });

  it("stay for the next cell of the same namespace, and leave nothing of what they sent", async () => {
    open({ maxProcesses: 1 });
    const sent: WeakRef<ArrayBufferLike>[] = [];
    const saveFiles: CellBridge["saveFiles"] = async (files) => {
      for (const { bytes } of files) if (bytes) sent.push(new WeakRef(bytes.buffer));
      return { value: null };
    };
    const { saved } = await run("alice", "x = 41\nopen('a.txt', 'w').write('x' * 100_000)", null, { saveFiles });
    const before = guestPids();
    expect(await resultOf("alice", "x + 1", saved)).toBe(42);
    expect(guestPids()).toEqual(before);
    await collectGarbage();
    expect(sent.map((each) => each.deref()?.byteLength)).toEqual([undefined]);
  });

  it("are never more than permitted, and no namespace is lost", async () => {
    open({ maxProcesses: 2 });
    const names = Array.from({ length: 5 }, (_, index) => `agent-${index}`);
    let most = 0;
    const watch = setInterval(() => {
      most = Math.max(most, guestPids().length);
    }, 20);
    const work = names.map(async (name, index) => {
      const { saved } = await run(name, `own = ${index}`);
      return resultOf(name, "own * 10", saved);
    });
    expect(await Promise.all(work)).toEqual([0, 10, 20, 30, 40]);
    clearInterval(watch);
    expect(most).toBeLessThanOrEqual(2);
    expect(most).toBeGreaterThan(0);
  });

  it("end the one that has been idle for longest when another is needed", async () => {
    open({ maxProcesses: 2 });
    const alice = await run("alice", "x = 1");
    const [first] = guestPids();
    await run("bob", "x = 2");
    expect(guestPids()).toContain(first);
    await run("carol", "x = 3");
    expect(guestPids()).not.toContain(first);
    expect(await resultOf("alice", "x", alice.saved)).toBe(1);
  });

  it("may die: the cell fails, and the next one starts from what was saved", async () => {
    open({ maxProcesses: 1 });
    const { saved } = await run("alice", "x = 41");
    const call: CellBridge["call"] = async () => {
      for (const pid of guestPids()) process.kill(pid, "SIGKILL");
      await waitForPids(0);
      return { value: null, changesFiles: false };
    };
    const outcome = await run("alice", "x = 7\npause()\nx", saved, { call });
    expect(outcome).toMatchObject({ kind: "failed", saved: null, problem: { kind: "died" } });
    expect(await resultOf("alice", "x + 1", saved)).toBe(42);
  });

  it("may die around a nested cell, which then runs in another one", async () => {
    open({ maxProcesses: 1 });
    const { saved } = await run("alice", "x = 41");
    let nested: unknown;
    const runTask: CellBridge["run"] = async () => {
      for (const pid of guestPids()) process.kill(pid, "SIGKILL");
      await waitForPids(0);
      // The sandbox may not have seen the end yet: the first nested cell then fails like the one around it.
      const isDone = async (): Promise<boolean> => {
        const outcome = await run("alice", "x + 1", saved);
        nested = outcome.kind === "done" ? outcome.value?.json : undefined;
        return outcome.kind === "done";
      };
      await waitUntil("a nested cell that ends well", isDone);
      return { value: null };
    };
    const outcome = await run("alice", "agent.run('task')", saved, { run: runTask });
    expect(nested).toBe(42);
    expect(outcome).toMatchObject({ kind: "failed", problem: { kind: "died" } });
  });

  it("end with the sandbox, also within a cell", async () => {
    open();
    const call: CellBridge["call"] = async () => {
      void sandbox.close();
      return { value: null, changesFiles: false };
    };
    const outcome = await run("alice", "pause()", null, { call });
    expect(outcome).toMatchObject({ kind: "failed", problem: { message: expect.stringContaining("shut down") } });
    expect((await run("alice", "1")).kind).toBe("failed");
    await waitForPids(0);
  });
});

it("the package of the sandbox is looked for in the folders above", () => {
  expect(hasPyodide(pathToFileURL(join(cacheFolder, "none.js")).href)).toBe(false);
  expect(hasPyodide()).toBe(true);
});

/** The cell processes that this process has started, without those that only wrap them. */
function guestPids(): readonly number[] {
  const all = listProcesses();
  const isOurs = (pid: number): boolean => {
    const parent = all.find((one) => one.pid === pid)?.parent ?? 0;
    return parent === process.pid || (parent > 1 && isOurs(parent));
  };
  const isGuest = ([program, ...args]: readonly string[]): boolean =>
    program === process.execPath && args.some((arg) => /sandbox\/guest\.[jt]s$/.test(arg));
  return all.filter(({ pid, args }) => isGuest(args) && isOurs(pid)).map(({ pid }) => pid);
}
