import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { DatabaseSync } from "node:sqlite";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, describe, expect, it } from "@jest/globals";
import type { Store } from "#core/ports/store.ts";
import { holdHostLock, isHostHeld, readHostInfo } from "#store/sqlite/host-lock.ts";
import { openSqliteReader, openSqliteStore } from "#store/sqlite/open-store.ts";
import { type GroupStoreOptions, openGroupStore } from "#store/sqlite/writer.ts";
import { storeContract } from "../contracts/store.ts";
import { AT, finished, NOTHING, SPEC, said, stamped, wrote } from "../helpers/events.ts";
import { useFolder, useOpened } from "../helpers/folder.ts";
import { type ProcessLines, readProcessLines, rounds } from "../helpers/waits.ts";
import { INFO, useContenders } from "./contenders.ts";

const programOf = (name: string): string => fileURLToPath(new URL(`./${name}`, import.meta.url));
const MANY = programOf("many-committing.child.ts");

const at = useFolder();
const keep = useOpened();
const children = new Set<ChildProcess>();
let path: string;
beforeEach(() => {
  path = at("goald.db");
  // The processes and threads of all tests compile once.
  process.env.NODE_COMPILE_CACHE = at("..", "compile-cache");
});
afterEach(async () => {
  const ended = [...children].map((child) => once(child, "close"));
  for (const child of children) child.kill("SIGKILL");
  await Promise.all(ended);
});

function watch(command: string, args: readonly string[], env: NodeJS.ProcessEnv = {}): ProcessLines {
  const child = spawn(command, args, { stdio: ["pipe", "pipe", "inherit"], env: { ...process.env, ...env } });
  children.add(child);
  child.on("close", () => children.delete(child));
  return readProcessLines(child);
}
const start = (...args: readonly string[]): ProcessLines => watch(process.execPath, [MANY, path, ...args]);

describe("the store for many agents, with real processes", () => {
  /** The highest head of each agent that the process printed as committed. */
  function acknowledged(lines: readonly string[]): ReadonlyMap<string, number> {
    const pairs = lines.map((line) => line.split(" ")).filter(([, head]) => Number(head) > 0);
    return new Map(pairs.map(([id = "", head]) => [id, Number(head)]));
  }

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

  it("keeps every acknowledged commit and a sound log over repeated kill -9", async () => {
    for (let kill = 0; kill < rounds(5); kill++) {
      const writer = start();
      await writer.reach(1);
      await sleep(Math.random() * 40);
      writer.child.kill("SIGKILL");
      await writer.ended;
      expect(acknowledged(writer.lines).size).toBeGreaterThan(0);
      expect(await losses(writer.lines)).toEqual([]);
    }
    const store = keep(await openSqliteStore(path));
    expect((await store.verify()).problems).toEqual([]);
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
      const writer = watch(process.execPath, ["--import", programOf("dying-writer.child.ts"), MANY, path, "40"], env);
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
    const again = start("3");
    await again.ended;
    expect(again.lines.filter((line) => line.includes("failed"))).toEqual([]);
    expect(acknowledged(again.lines).size).toBe(5);
    expect(await losses([...writer.lines, ...again.lines])).toEqual([]);
  });

  it("keeps its process alive only while a write is pending, although its thread still runs", async () => {
    const { lines, ended } = start("1", "0", "600000");
    expect(await ended).toEqual([0, null]);
    expect(lines.at(-1)).toBe("over");
  });
});

describe("long reads of the embedded store", () => {
  let store: Store;
  beforeEach(async () => {
    store = keep(await openSqliteStore(at("goald.db")));
  });
  const EVENTS = 30_000;
  async function fillLong(): Promise<void> {
    await store.create(SPEC, "k", AT);
    const lease = await store.claim("foo");
    const texts = Array.from({ length: EVENTS - 1 }, (_, index) => said(`${index} ${"x".repeat(500)}`));
    await store.commit(lease, 1, { ...NOTHING, events: stamped(2, ...texts) });
  }
  /** Counts how often other work ran. */
  async function turnsDuring<T>(work: Promise<T>): Promise<{ readonly turns: number; readonly result: T }> {
    let turns = 0;
    let isOver = false;
    const count = () => {
      turns++;
      if (!isOver) setImmediate(count);
    };
    setImmediate(count);
    const result = await work.finally(() => {
      isOver = true;
    });
    return { turns, result };
  }

  it("let other work run in between and return the same", async () => {
    await fillLong();
    const loaded = await turnsDuring(store.load("foo", 1));
    expect(loaded.turns).toBeGreaterThan(3);
    expect(loaded.result.events.map(({ seq }) => seq)).toEqual(Array.from({ length: EVENTS }, (_, index) => index + 1));
    const read = await turnsDuring(store.read("foo", 10, EVENTS));
    expect(read.turns).toBeGreaterThan(3);
    expect(read.result).toEqual(loaded.result.events.slice(10));
    expect((await turnsDuring(store.read("foo", 10, 20))).turns).toBe(0);
  });

  it("return a state that the log really had while it grows, and fail when the agent is removed", async () => {
    await fillLong();
    const lease = await store.claim("foo");
    const loading = store.load("foo", 1);
    await store.commit(lease, EVENTS, { ...NOTHING, events: stamped(EVENTS + 1, said("meanwhile")) });
    expect(await loading).toMatchObject({ head: EVENTS, events: { length: EVENTS } });
    const late = expect(store.load("foo", 1)).rejects.toMatchObject({ code: "GOALD_NOT_FOUND" });
    await store.remove("foo");
    await store.create(SPEC, "k", AT);
    await late;
  });

  it("return a long history of files complete and in order", async () => {
    await store.create(SPEC, "k", AT);
    const lease = await store.claim("foo");
    for (let head = 1; head <= 5; head++)
      await store.commit(lease, head, {
        ...NOTHING,
        events: stamped(head + 1, finished(head)),
        files: Array.from({ length: 199 + head }, (_, index) => wrote(`${head}-${index}`, "same", `c${head}`)),
      });
    const paths = (await store.files("foo")).map((file) => file.path);
    expect(paths).toEqual(
      [1, 2, 3, 4, 5].flatMap((n) => Array.from({ length: 199 + n }, (_, index) => `${n}-${index}`)),
    );
  });
});

let stores = 0;

/** The store for many agents, in the calling thread and in one of its own. */
const openMany = (options: GroupStoreOptions = {}) => openGroupStore(at(`${++stores}`, "goald.db"), options);
storeContract("the store for many agents", openMany);
storeContract("the store for many agents, in its thread", () => openMany({ thread: "always" }));

const CONTENDERS = 6;

describe("the host lock", () => {
  const at = useFolder();
  let path: string;
  beforeEach(() => {
    path = at(".goald", "lock.db");
  });
  const { start, contend, end } = useContenders(() => path);

  it("goes to exactly one of six racing processes when its holder is killed, in every round", async () => {
    let holder = await start();
    expect(await contend(holder)).toBe("won");
    let others = await Promise.all(Array.from({ length: CONTENDERS }, start));
    for (let round = 0; round < rounds(3); round++) {
      const gone = end(holder);
      const racing = others.map(contend);
      // A check of the lock during the race changes no outcome.
      isHostHeld(path);
      const answers = await Promise.all(racing);
      await gone;
      const winners = others.filter((_, index) => answers[index] === "won");
      expect(winners).toHaveLength(1);
      const [winner] = winners as [ChildProcess];
      const losers = answers.filter((answer) => answer !== "won");
      for (const answer of losers) expect(answer).toMatch(/^GOALD_ALREADY_RUNNING The agents of this home are run by /);
      expect(readHostInfo(path)?.pid).toBe(winner.pid);
      holder = winner;
      others = [...others.filter((child) => child !== winner), await start()];
    }
  });

  it("is not kept from its next holder by a process that waits for it", async () => {
    holdHostLock(path, INFO).release();
    using next = new DatabaseSync(path, { timeout: 100 });
    next.exec("BEGIN IMMEDIATE; CREATE TABLE held (at);");
    const waiting = contend(await start());
    // The process has begun to wait, and does so for 300 ms.
    await new Promise((resolve) => setTimeout(resolve, 100));
    // A commit needs the lock that no other process may share.
    next.exec("COMMIT; BEGIN EXCLUSIVE;");
    expect(await waiting).toMatch(/^GOALD_ALREADY_RUNNING/);
  });
});
