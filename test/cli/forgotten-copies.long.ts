/** `goald memory AGENT forget` of a text that other memories have too: it acts on the copies of that memory, and on no other. */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "@jest/globals";
import { isLive } from "#core/memory.ts";
import { openSqliteReader } from "#store/sqlite/open-store.ts";
import { endedWith, type Goald, jsonOf } from "../helpers/goald.ts";
import { makeWorkedHome, type WorkedHome } from "../helpers/worked-home.ts";

const TEXT = "The safe opens with 4711";
const COPY = "the safe opens  with 4711.";
const OTHER = "The safe opens with 4712";
const MEMORIES = ["foo", "shared", "bar"] as const;

let home: WorkedHome;
let goald: Goald;
beforeAll(async () => {
  home = await makeWorkedHome("Foo", []);
  goald = home.goald;
  const rows = [TEXT, COPY, OTHER].map((text, at) => ({ text, trust: "agent", kind: "fact", key: `k${at}` }));
  await goald.write("safe.jsonl", rows.map((row) => JSON.stringify(row)).join("\n"));
  const file = join(goald.home, "safe.jsonl");
  for (const name of ["foo", "shared"]) endedWith(0, await goald.ask(["memory", name, "import", "--trust", file]));
  endedWith(0, await goald.ask(["fork", "foo", "--step", "1", "--name", "Bar"]));
});
afterAll(async () => home[Symbol.asyncDispose]());

/** The live rows of each memory that are about the safe, oldest first. */
async function readSafes() {
  const reader = await openSqliteReader(join(goald.home, ".goald", "goald.db"));
  try {
    const all = await Promise.all(MEMORIES.map((name) => reader.memories(name, 0, 1_000)));
    return all.map((rows) => rows.filter((row) => isLive(row) && /safe opens/i.test(row.text)));
  } finally {
    await reader.close();
  }
}
const textsOf = (memories: Awaited<ReturnType<typeof readSafes>>) =>
  memories.map((rows) => rows.map(({ text }) => text));
const forget = async (name: string, id: string) => jsonOf(await goald.ask(["memory", name, "forget", id, "--json"]));
const isOnDisk = async (text: string) => (await readFile(join(goald.home, ".goald", "goald.db"))).includes(text);

it("forget erases the copies of that memory, and leaves those of the shared memory and of another agent", async () => {
  const before = await readSafes();
  const all = [TEXT, COPY, OTHER];
  expect(textsOf(before)).toEqual([all, all, all]);
  const [own, shared, forked] = before.map((rows) => rows.map(({ id }) => id));
  expect(await forget("foo", own?.[0] ?? "")).toEqual({
    changed: [{ id: own?.[0], isNew: true, copies: [own?.[1]] }],
    steps: [],
  });
  expect(textsOf(await readSafes())).toEqual([[OTHER], all, all]);
  const found = jsonOf<{ recalls: { id: string; text: string }[] }>(
    await goald.ask(["memory", "foo", "search", "4711", "--json"]),
  ).recalls.filter(({ text }) => /4711/.test(text));
  expect(found.map(({ id }) => id).sort()).toEqual([shared?.[0], shared?.[1]]);

  // Copies of two memories at once, each with its own.
  endedWith(0, await goald.ask(["memory", "bar", "forget", forked?.[1] ?? "", shared?.[0] ?? ""]));
  expect(textsOf(await readSafes())).toEqual([[OTHER], [OTHER], [OTHER]]);
  expect([await isOnDisk(TEXT), await isOnDisk(COPY), await isOnDisk(OTHER)]).toEqual([false, false, true]);
  expect(endedWith(0, await goald.ask(["verify"])).stdout).toContain("sound");
});

it("an erased row does not come back when its file is imported again", async () => {
  const file = join(goald.home, "safe.jsonl");
  for (const name of ["foo", "shared"]) endedWith(0, await goald.ask(["memory", name, "import", "--trust", file]));
  expect(textsOf(await readSafes())).toEqual([[OTHER], [OTHER], [OTHER]]);
});
