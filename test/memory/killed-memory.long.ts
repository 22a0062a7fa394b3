import { spawn } from "node:child_process";
import { expect, it } from "@jest/globals";
import { isLive } from "#core/memory.ts";
import { openSqliteStore } from "#store/sqlite/open-store.ts";
import { useFolder } from "../helpers/folder.ts";
import { randomNumbers } from "../helpers/memory-rows.ts";
import { startPineconeServer } from "../helpers/pinecone-server.ts";
import { readProcessLines, rounds } from "../helpers/waits.ts";

const at = useFolder();
const CHILD = new URL("./killed-memory.child.ts", import.meta.url).pathname;
const ROUNDS = rounds(20);
const next = randomNumbers(3);

/** The lines that it printed until it ended or was killed, a given time after its first line. */
async function run(args: readonly string[], killAfterMs?: number): Promise<readonly string[]> {
  const env = { ...process.env, NODE_COMPILE_CACHE: at("..", "compiled") };
  const started = spawn(process.execPath, [CHILD, ...args], { env, stdio: ["ignore", "pipe", "inherit"] });
  const { child, lines, reach, ended } = readProcessLines(started);
  await reach(1);
  if (killAfterMs !== undefined) setTimeout(() => child.kill("SIGKILL"), killAfterMs);
  await ended;
  return lines;
}

it(
  "killed memory leaves exactly the live rows in Pinecone, whenever it was killed",
  async () => {
    await using server = await startPineconeServer({ dimension: 64, visibleAfterMs: 50 });
    // Some answers get lost or come late.
    server.trouble = (path) => {
      const chance = path.startsWith("/vectors") ? next() : 1;
      return chance < 0.1 ? "lost" : chance < 0.15 ? { status: 503 } : undefined;
    };
    const path = at("outbox.db");
    const lines: string[] = [];
    for (let round = 0; round < ROUNDS; round++)
      lines.push(...(await run(["outbox", path, server.url], 50 + next() * 600)));
    const idsAfter = (word: string) =>
      new Set(lines.flatMap((line) => (line.startsWith(`${word} `) ? [line.slice(word.length + 1)] : [])));
    const [kept, going, gone] = [idsAfter("kept"), idsAfter("going"), idsAfter("gone")];
    server.trouble = undefined;
    expect(await run(["finish", path, server.url])).toEqual(["finished"]);
    const store = await openSqliteStore(path);
    const rows = await store.memories("foo", 0, 100_000);
    await store.close();
    const living = rows.filter(isLive);
    const ids = new Set(living.map(({ id }) => id));
    // A kill between a commit and its line leaves the last forgotten row of a round in either state.
    const undecided = new Set([...going].filter((id) => !gone.has(id)));
    expect(undecided.size).toBeLessThanOrEqual(ROUNDS);
    expect([...kept].filter((id) => !gone.has(id) && !undecided.has(id) && !ids.has(id))).toEqual([]);
    expect([...gone].filter((id) => ids.has(id))).toEqual([]);
    const forgotten = new Set(rows.filter((row) => row.forgotten === "person").map(({ id }) => id));
    expect([...undecided].filter((id) => !ids.has(id) && !forgotten.has(id))).toEqual([]);
    const there = [...server.records("foo").values()].map(({ id, metadata }) => [id, metadata?.text]);
    expect(there.sort()).toEqual(living.map(({ id, text }) => [id, text]).sort());
    expect(server.violations).toEqual([]);
    const before = server.count("/vectors/upsert");
    await run(["finish", path, server.url]);
    expect(server.count("/vectors/upsert")).toBe(before);
    // On a busy machine a child is killed after few rows.
    expect(kept.size).toBeGreaterThan(ROUNDS / 4);
  },
  30_000 + ROUNDS * 10_000,
);
