import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { isLive } from "#core/memory.ts";
import type { MemoryRow } from "#core/ports/memory.ts";
import { openSqliteReader, openSqliteStore } from "#store/sqlite/open-store.ts";
import { makeDaemonHome } from "../helpers/daemon-home.ts";
import { endedWith, errorOf, type Goald, jsonOf, makeGoald } from "../helpers/goald.ts";
import { listenOnLoopback } from "../helpers/loopback.ts";
import { write } from "../helpers/numbered-model.ts";
import { makeWorkedHome, type WorkedHome } from "../helpers/worked-home.ts";

type Listed = Omit<MemoryRow, "vector">;

let home: WorkedHome;
let goald: Goald;
beforeAll(async () => {
  const calls = [write("hours.md", "The shop opens at eight."), write("plan.md", "Buy flour")];
  home = await makeWorkedHome("Foo", calls);
  goald = home.goald;
});
afterAll(async () => home[Symbol.asyncDispose]());

/** Reads the live rows of a memory from the store, newest first; the verbs that list have their own tests. */
async function rowsOf(namespace: string, kind?: string): Promise<readonly Listed[]> {
  const reader = await openSqliteReader(join(goald.home, ".goald", "goald.db"));
  try {
    const rows = await reader.memories(namespace, 0, 10_000);
    return rows.filter((row) => isLive(row) && (kind === undefined || row.kind === kind)).reverse();
  } finally {
    await reader.close();
  }
}

describe("goald ingest", () => {
  it("takes in a page with the trust of the web, and reports a page that it cannot load", async () => {
    let hours = "nine";
    await using site = await listenOnLoopback((_request, response) => {
      response.setHeader("content-type", "text/html");
      response.end(`<title>B</title><article><h1>Hours</h1><p>The bakery opens at ${hours} on Sundays.</p></article>`);
    });
    const address = `${site.origin}/`;
    const from = async (allow: string) =>
      goald.ask(["ingest", "shared", address, "--json"], { env: { GOALD_WEB_ALLOW: allow } });
    expect(jsonOf(await from(address.slice(0, -1)))).toMatchObject({ namespace: "shared", sources: 1, added: 1 });
    hours = "ten";
    expect(jsonOf(await from(address.slice(0, -1)))).toMatchObject({ sources: 1, added: 0, changed: 1 });
    expect((await rowsOf("shared")).find(({ source }) => source === address)).toMatchObject({
      ...{ trust: "web", kind: "file_chunk", text: expect.stringContaining("opens at ten") },
    });
    expect(JSON.parse(endedWith(1, await from("")).stdout)).toMatchObject({
      sources: 0,
      skipped: [{ path: address }],
    });
  });
});

describe("memory while another process holds the home", () => {
  it("is changed through a daemon in the middle of a step, and the agent recalls it at the next step", async () => {
    await using home = await makeDaemonHome([write("a.md", "one"), write("b.md", "two")]);
    home.holdFrom(2);
    endedWith(0, await home.goald.ask(["run", "-d", "--name", "T", "--role", "r", "-g", "Write the letter to Ada"]));
    await home.asked(2);
    endedWith(0, await home.goald.ask(["memory", "t", "add", "The letter to Ada is to be short"]));
    endedWith(0, await home.goald.ask(["memory", "shared", "add", "Letters to Ada go by train"]));
    home.release();
    await home.logged("turn-finished");
    const prompts = home.server.chats.map((chat) => JSON.stringify(chat));
    expect(prompts.slice(0, 2).join()).not.toContain("is to be short");
    expect(prompts.at(-1)).toMatch(
      /\[t\/\+1 \| no step \| [^|]+, just now \| note \| a person\] The letter to Ada is to be short/,
    );
    expect(prompts.at(-1)).toContain("Letters to Ada go by train");
  });

  it("names the owner of the home if it takes no calls", async () => {
    await using other = await makeGoald();
    await mkdir(join(other.home, ".goald"), { recursive: true, mode: 0o700 });
    await (await openSqliteStore(join(other.home, ".goald", "goald.db"))).close();
    const { holdHostLock } = await import("#store/sqlite/host-lock.ts");
    using _lock = holdHostLock(join(other.home, ".goald", "lock.db"), {
      ...{ pid: process.pid, version: "0", startedAt: new Date().toISOString() },
    });
    const refused = errorOf(endedWith(7, await other.ask(["memory", "shared", "add", "x", "--json"])));
    expect(refused.code).toBe("GOALD_ALREADY_RUNNING");
  });
});
