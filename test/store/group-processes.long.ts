import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "@jest/globals";
import { openSqliteReader, openSqliteStore } from "#store/sqlite-store.ts";
import { type ProcessLines, readProcessLines } from "../helpers/process-lines.ts";
import { rounds } from "../helpers/rounds.ts";

const programOf = (name: string): string => fileURLToPath(new URL(`./${name}`, import.meta.url));
const MANY = programOf("many-committing.child.ts");

describe("the store for many agents, with real processes", () => {
  let folder: string;
  const children = new Set<ChildProcess>();
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), "goald-group-"));
  });
  afterEach(async () => {
    const ended = [...children].map((child) => once(child, "close"));
    for (const child of children) child.kill("SIGKILL");
    await Promise.all(ended);
  });
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  function watch(command: string, args: readonly string[], env: NodeJS.ProcessEnv = {}): ProcessLines {
    const compileCache = { NODE_COMPILE_CACHE: join(folder, "compile-cache") };
    const child = spawn(command, args, {
      stdio: ["ignore", "pipe", "inherit"],
      env: { ...process.env, ...compileCache, ...env },
    });
    children.add(child);
    child.on("close", () => children.delete(child));
    return readProcessLines(child);
  }
  const start = (...args: readonly string[]): ProcessLines => watch(process.execPath, args);
  const startWith = (preload: string, env: NodeJS.ProcessEnv, ...args: readonly string[]): ProcessLines =>
    watch(process.execPath, ["--import", programOf(preload), MANY, ...args], env);

  /** The highest head of each agent that the process printed as committed. */
  const acknowledged = (lines: readonly string[]): ReadonlyMap<string, number> =>
    new Map(
      lines
        .map((line) => line.split(" "))
        .filter(([, head]) => Number(head) > 0)
        .map(([id = "", head]) => [id, Number(head)]),
    );

  /** Returns agents that lost an acknowledged commit, and all other problems. */
  async function losses(path: string, lines: readonly string[]): Promise<readonly string[]> {
    const reader = await openSqliteReader(path);
    const lost: string[] = [];
    for (const [id, head] of acknowledged(lines)) {
      const loaded = await reader.load(id, 1);
      if (loaded.head < head) lost.push(`${id} at ${loaded.head} instead of ${head}`);
      if (loaded.events.some(({ seq }, index) => seq !== index + 1)) lost.push(`${id} has gaps`);
    }
    lost.push(...(await reader.verify()).problems);
    await reader.close();
    return lost;
  }

  async function killAtSomeMoment({ child, lines, ended, reach }: ProcessLines): Promise<void> {
    await reach(1);
    await sleep(Math.random() * 40);
    child.kill("SIGKILL");
    await ended;
    expect(acknowledged(lines).size).toBeGreaterThan(0);
  }

  it("keeps every acknowledged commit and a sound log over repeated kill -9", async () => {
    const path = join(folder, "killed", "goald.db");
    for (let kill = 0; kill < rounds(5); kill++) {
      const writer = start(MANY, path);
      await killAtSomeMoment(writer);
      expect(await losses(path, writer.lines)).toEqual([]);
    }
    const store = await openSqliteStore(path);
    expect((await store.verify()).problems).toEqual([]);
    await store.close();
  });

  it("detects writes that are acknowledged before they are committed", async () => {
    const path = join(folder, "late", "goald.db");
    const lost: string[] = [];
    for (let kill = 0; kill < 11 && lost.length === 0; kill++) {
      const writer = startWith("late-commit.child.ts", {}, path);
      await killAtSomeMoment(writer);
      lost.push(...(await losses(path, writer.lines)));
    }
    expect(lost.join()).toMatch(/^agent-\d at \d+ instead of \d+/);
  });

  it.each([
    ["exit", "9:before", /exit code 3/],
    ["exit", "9:after", /exit code 3/],
    ["error", "9:before", /boom/],
    ["memory", "9:before", /memory/],
    ["start", "", undefined],
  ] as const)(
    "leaves nothing hanging and loses nothing when its thread dies (%s, %s), and goes on",
    async (by, at, how) => {
      const path = join(folder, `${by}-${at}`, "goald.db");
      const died = join(folder, `died-${by}-${at}`);
      const env = {
        WRITER_DIES_BY: by,
        WRITER_DIES_AT: at,
        WRITER_DIED: died,
        NODE_OPTIONS: "--max-old-space-size=64",
      };
      const writer = startWith("dying-writer.child.ts", env, path, "40");
      expect(await writer.ended).toEqual([0, null]);
      expect(writer.lines.at(-1)).toBe("over");
      const failures = writer.lines.filter((line) => line.includes("failed"));
      // Each agent has at most one pending write.
      expect(failures.length).toBeLessThanOrEqual(5);
      if (how)
        expect(failures[0]).toMatch(/^agent-\d failed GOALD_INTERNAL The thread that writes to the store died before/);
      if (how) expect(failures.join()).toMatch(how);
      else expect(failures).toEqual([]);
      expect(await losses(path, writer.lines)).toEqual([]);
      expect(acknowledged(writer.lines).size).toBe(5);
    },
  );

  it("fails every write of a group on a full disk, keeps earlier ones, and works again when there is space", async () => {
    const path = join(folder, "full", "goald.db");
    // Files can grow to 1 or 2 MB, depending on the shell's unit. Node ignores the signal and gets EFBIG.
    const script = 'ulimit -f 2048; exec "$@"';
    const writer = watch("sh", ["-c", script, "sh", process.execPath, MANY, path, "60", String(3 * 1024 * 1024)]);
    await writer.ended;
    expect(writer.lines.at(-1)).toBe("over");
    const failures = writer.lines.filter((line) => line.includes("failed"));
    const full = /^agent-\d failed GOALD_STORE_FULL The disk did not take a write to .*goald\.db/;
    expect(failures.filter((line) => !full.test(line))).toEqual([]);
    // The first agent's blob never fits. The others' writes fit until the file cannot grow any more.
    const heads = acknowledged(writer.lines);
    expect([...heads.keys()].sort()).toEqual(["agent-1", "agent-2", "agent-3", "agent-4"]);
    expect(await losses(path, writer.lines)).toEqual([]);
    const again = start(MANY, path, "3");
    await again.ended;
    expect(again.lines.filter((line) => line.includes("failed"))).toEqual([]);
    expect(acknowledged(again.lines).size).toBe(5);
    expect(await losses(path, [...writer.lines, ...again.lines])).toEqual([]);
  });

  it("keeps its process alive only while a write is pending", async () => {
    const path = join(folder, "unattended", "goald.db");
    const { lines, ended } = start(programOf("unattended.child.ts"), path);
    expect(await ended).toEqual([0, null]);
    expect(lines).toEqual(["committed"]);
    expect(await losses(path, ["foo 2"])).toEqual([]);
  });
});
