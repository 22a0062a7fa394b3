import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { cpSync, rmSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, describe, expect, it } from "@jest/globals";
import { isLive } from "#core/memory.ts";
import { openForWriting } from "#store/sqlite/connection.ts";
import { openSqliteReader, openSqliteStore } from "#store/sqlite/open-store.ts";
import { prepareSchema } from "#store/sqlite/schema.ts";
import { useFolder, useOpened } from "../helpers/folder.ts";
import { type ProcessLines, readProcessLines } from "../helpers/process-lines.ts";
import { rounds } from "../helpers/rounds.ts";
import { fill } from "./filled-store.ts";
import { VERSION_2 } from "./made-up-schema.ts";

const programOf = (name: string): string => fileURLToPath(new URL(`./${name}`, import.meta.url));
const MANY = programOf("many-committing.child.ts");

const at = useFolder();
const keep = useOpened();
const children = new Set<ChildProcess>();
let path: string;
beforeEach(() => {
  path = at("goald.db");
});
afterEach(async () => {
  const ended = [...children].map((child) => once(child, "close"));
  for (const child of children) child.kill("SIGKILL");
  await Promise.all(ended);
});

function watch(command: string, args: readonly string[], env: NodeJS.ProcessEnv = {}): ProcessLines {
  const compileCache = { NODE_COMPILE_CACHE: at("..", "compile-cache") };
  const child = spawn(command, args, {
    stdio: ["pipe", "pipe", "inherit"],
    env: { ...process.env, ...compileCache, ...env },
  });
  children.add(child);
  child.on("close", () => children.delete(child));
  return readProcessLines(child);
}
const start = (name: string, ...args: readonly string[]): ProcessLines =>
  watch(process.execPath, [programOf(name), path, ...args]);

describe("the embedded store, with real processes", () => {
  it.each(["one", "two"])("loses nothing that was acknowledged to kill -9, again and again (store %s)", async () => {
    let known = 0;
    for (let kill = 0; kill < rounds(4); kill++) {
      const writer = start("committing-process.ts");
      await writer.reach(1);
      await sleep(Math.random() * 40);
      writer.child.kill("SIGKILL");
      await writer.ended;
      const acknowledged = Number(writer.lines.at(-1));
      expect(acknowledged).toBeGreaterThan(known);
      // A reader needs no recovery by a writer first, and finds the same.
      const reader = keep(await openSqliteReader(path));
      const { head, events, snapshot } = await reader.load("foo", 1);
      expect(head).toBeGreaterThanOrEqual(acknowledged);
      expect(events.at(-1)?.seq ?? snapshot?.seq).toBe(head);
      if (kill % 3 === 0) expect(await reader.verify()).toEqual({ agents: 1, events: head, problems: [] });
      known = head;
    }
    const store = keep(await openSqliteStore(path));
    expect(await store.verify()).toEqual({ agents: 1, events: known, problems: [] });
  });
});

describe("the store for many agents, with real processes", () => {
  /** The highest head of each agent that the process printed as committed. */
  function acknowledged(lines: readonly string[]): ReadonlyMap<string, number> {
    const pairs = lines.map((line) => line.split(" ")).filter(([, head]) => Number(head) > 0);
    return new Map(pairs.map(([id = "", head]) => [id, Number(head)]));
  }
  const startWith = (preload: string, env: NodeJS.ProcessEnv, ...args: readonly string[]): ProcessLines =>
    watch(process.execPath, ["--import", programOf(preload), MANY, path, ...args], env);

  /** Returns agents that lost an acknowledged commit, and all other problems. */
  async function losses(lines: readonly string[]): Promise<readonly string[]> {
    const reader = keep(await openSqliteReader(path));
    const lost: string[] = [];
    for (const [id, head] of acknowledged(lines)) {
      const loaded = await reader.load(id, 1);
      if (loaded.head < head) lost.push(`${id} at ${loaded.head} instead of ${head}`);
      if (loaded.events.some(({ seq }, index) => seq !== index + 1)) lost.push(`${id} has gaps`);
    }
    lost.push(...(await reader.verify()).problems);
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
    for (let kill = 0; kill < rounds(5); kill++) {
      const writer = start("many-committing.child.ts");
      await killAtSomeMoment(writer);
      expect(await losses(writer.lines)).toEqual([]);
    }
    const store = keep(await openSqliteStore(path));
    expect((await store.verify()).problems).toEqual([]);
  });

  it("detects writes that are acknowledged before they are committed", async () => {
    const lost: string[] = [];
    for (let kill = 0; kill < 11 && lost.length === 0; kill++) {
      const writer = startWith("late-commit.child.ts", {});
      await killAtSomeMoment(writer);
      lost.push(...(await losses(writer.lines)));
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
    async (by, moment, how) => {
      const dying = { WRITER_DIES_BY: by, WRITER_DIES_AT: moment, WRITER_DIED: at("died") };
      const env = { ...dying, NODE_OPTIONS: "--max-old-space-size=64" };
      const writer = startWith("dying-writer.child.ts", env, "40");
      expect(await writer.ended).toEqual([0, null]);
      expect(writer.lines.at(-1)).toBe("over");
      const failures = writer.lines.filter((line) => line.includes("failed"));
      // Each agent has at most one pending write.
      expect(failures.length).toBeLessThanOrEqual(5);
      if (how)
        expect(failures[0]).toMatch(/^agent-\d failed GOALD_INTERNAL The thread that writes to the store died before/);
      if (how) expect(failures.join()).toMatch(how);
      else expect(failures).toEqual([]);
      expect(await losses(writer.lines)).toEqual([]);
      expect(acknowledged(writer.lines).size).toBe(5);
    },
  );

  it("fails every write of a group on a full disk, keeps earlier ones, and works again when there is space", async () => {
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
    expect(await losses(writer.lines)).toEqual([]);
    const again = start("many-committing.child.ts", "3");
    await again.ended;
    expect(again.lines.filter((line) => line.includes("failed"))).toEqual([]);
    expect(acknowledged(again.lines).size).toBe(5);
    expect(await losses([...writer.lines, ...again.lines])).toEqual([]);
  });

  it("keeps its process alive only while a write is pending", async () => {
    const { lines, ended } = start("unattended.child.ts");
    expect(await ended).toEqual([0, null]);
    expect(lines).toEqual(["committed"]);
    expect(await losses(["foo 2"])).toEqual([]);
  });
});

const CHANGES = rounds(40);

it(
  `keeps every acknowledged change of memory over ${CHANGES} kills, and verifies after each`,
  async () => {
    let last = -1;
    for (let round = 0; round < CHANGES; round++) {
      const { child, lines, ended, reach } = start("curating.child.ts", String(last + 1));
      await reach(1);
      await sleep((round * 7) % 50);
      child.kill("SIGKILL");
      await ended;
      last = Number(lines.at(-1));
      const store = await openSqliteStore(path);
      expect((await store.verify()).problems).toEqual([]);
      const rows = (await store.memories("shared", 0, 100_000)).filter(isLive);
      const live = new Map(rows.map(({ text, pinned }) => [text, pinned]));
      for (let call = 0; call <= last; call++) {
        expect([live.has(`one ${call}`), live.has(`right ${call}`)]).toEqual([false, call % 2 === 0]);
        expect(live.get(`two ${call}`)).toBe(true);
      }
      await store.close();
    }
    expect(last).toBeGreaterThan(CHANGES);
  },
  30_000 + CHANGES * 3_000,
);

const UPGRADES = rounds(16);
const ROWS = 200_000;

const STATE = `SELECT (SELECT value FROM meta WHERE key = 'schema') AS version, (SELECT count(*) FROM memory) AS rows,
  (SELECT count(*) FROM pragma_table_info('agent') WHERE name = 'color') AS columns,
  (SELECT count(*) FROM sqlite_schema WHERE name = 'memory_kind') AS indexes`;

it(`an upgrade is complete or absent after each of ${UPGRADES} kills, and can be made afterwards`, async () => {
  const old = at("old.db");
  const store = await openSqliteStore(old);
  await fill(store);
  await store.close();
  const columns = "step, namespace, kind, text, text_sha, salt, importance, trust, at";
  const database = new DatabaseSync(old);
  database.exec(`WITH RECURSIVE number (value) AS (SELECT 1 UNION ALL SELECT value + 1 FROM number WHERE value < ${ROWS})
      INSERT INTO memory (agent_no, change, seq, ordinal, ${columns})
      SELECT agent_no, 100 + value, 10, value, ${columns} FROM memory, number WHERE seq = 6 AND ordinal = 0`);
  const { rows } = database.prepare("SELECT count(*) AS rows FROM memory").get() as { readonly rows: number };
  expect(rows).toBeGreaterThan(ROWS);
  database.close();
  const versions: unknown[] = [];
  for (let kill = 0; kill < UPGRADES; kill++) {
    cpSync(old, path);
    const { child, ended, reach } = start("opening.child.ts");
    await reach(1);
    child.stdin?.write("\n");
    await sleep((kill * 400) / UPGRADES);
    child.kill("SIGKILL");
    await ended;
    const after = openForWriting(path);
    const state = after.prepare(STATE).get() ?? {};
    versions.push(state.version);
    const parts = state.version === "2" ? 1 : 0;
    expect(state).toEqual({ version: expect.stringMatching(/^[12]$/), rows, columns: parts, indexes: parts });
    prepareSchema(after, VERSION_2);
    expect(after.prepare(STATE).get()).toEqual({ version: "2", rows, columns: 1, indexes: 1 });
    after.close();
    for (const suffix of ["", "-wal", "-shm"]) rmSync(path + suffix, { force: true });
  }
  expect(versions).toContain("1");
}, 120_000);
