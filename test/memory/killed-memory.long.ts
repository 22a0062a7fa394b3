import { spawn } from "node:child_process";
import { describe, expect, it } from "@jest/globals";
import { isLive } from "#core/memory.ts";
import type { Embedder } from "#core/ports/memory.ts";
import { openSqliteStore } from "#store/sqlite/open-store.ts";
import { AT, memoryOf, NOTHING, SPEC, said, stamped } from "../helpers/events.ts";
import { useFolder } from "../helpers/folder.ts";
import { namedEmbedder, randomNumbers } from "../helpers/memory-rows.ts";
import { startPineconeServer } from "../helpers/pinecone-server.ts";
import { rounds } from "../helpers/waits.ts";

const at = useFolder();
const CHILD = new URL("./killed-memory.child.ts", import.meta.url).pathname;
/** An even number. */
const ROUNDS = 2 * rounds(10);
const WHERE = ["before", "during", "after"];
const live = new AbortController().signal;
const next = randomNumbers(3);

/** The lines that it printed until it ended or was killed, a given time after its first line, and its signal. */
function run(args: readonly string[], killAfterMs?: number): Promise<readonly string[]> {
  const env = { ...process.env, NODE_COMPILE_CACHE: at("..", "compiled") };
  const child = spawn(process.execPath, [CHILD, ...args], { env, stdio: ["ignore", "pipe", "inherit"] });
  let told = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    if (told === "" && killAfterMs !== undefined) setTimeout(() => child.kill("SIGKILL"), killAfterMs);
    told += text;
  });
  return new Promise((resolve) =>
    child.once("close", (_, signal) => resolve([...told.split("\n").slice(0, -1), ...(signal ? [signal] : [])])),
  );
}

/** It prints one line and dies at the moment that `args` name. */
async function runAndDie(args: readonly string[]): Promise<void> {
  expect(await run(args)).toEqual(["kept nothing", "SIGKILL"]);
}

/** Adds rows of one agent, each with its vector. */
async function fill(path: string, embedder: Embedder, count: number): Promise<void> {
  const store = await openSqliteStore(path);
  await store.create(SPEC, "key-1", AT);
  const lease = await store.claim("foo");
  const events = stamped(2, ...Array.from({ length: count }, () => said("x")));
  const memories = events.map(({ seq }) => ({ ...memoryOf(seq), text: `fact ${seq} about thing number ${seq * 7}` }));
  await store.commit(lease, 1, { ...NOTHING, events, memories });
  const texts = memories.map(({ text }) => text);
  const made = await embedder.embed(texts, live);
  const vectors = made.map((vector, at) => ({ id: `foo/${memories[at]?.seq}`, vector }));
  await store.saveVectors("foo", embedder.id, vectors);
  await store.close();
}

/** Compares every vector with one of the embedder that it names. Returns the names. */
async function checkVectors(path: string): Promise<readonly string[]> {
  const store = await openSqliteStore(path);
  const rows = (await store.memories("foo", 0, 100_000)).filter(isLive);
  await store.close();
  const names = new Set(rows.map(({ embedder }) => String(embedder).replace("@64", "")));
  for (const name of names) {
    const own = rows.filter(({ embedder }) => embedder === `${name}@64`);
    const texts = own.map(({ text }) => text);
    const vectors = await namedEmbedder(name).embed(texts, live);
    expect(own.map(({ vector }) => vector && [...vector])).toEqual(vectors.map((vector) => [...vector]));
  }
  return [...names];
}

describe("killed memory", () => {
  it(
    "leaves exactly the live rows in Pinecone, whenever it was killed",
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

  it(
    "has every vector complete and of its named embedder, at whatever point a change of embedders was killed",
    async () => {
      const path = at("change.db");
      // More lots of 32 than all rounds of one change save.
      await fill(path, namedEmbedder("one"), 32 * (5 * (ROUNDS / 2) + 1));
      let before = "one";
      for (const name of ["two", "three"]) {
        for (let round = 0; round < ROUNDS / 2; round++) {
          const where = WHERE[round % WHERE.length] as string;
          await runAndDie(["change", path, name, where, String(1 + Math.floor(next() * 3))]);
          expect([before, name]).toEqual(expect.arrayContaining([...(await checkVectors(path))]));
        }
        expect(await checkVectors(path)).toContain(name);
        expect(await checkVectors(path)).toContain(before);
        expect((await run(["change", path, name])).at(-1)).toBe("finished");
        expect(await checkVectors(path)).toEqual([name]);
        before = name;
      }
    },
    30_000 + ROUNDS * 10_000,
  );
});
