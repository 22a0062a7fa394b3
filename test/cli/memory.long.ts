import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, describe, expect, it } from "@jest/globals";
import { memoryFolder } from "#app/memory-folders.ts";
import { SNAPSHOT_FILE } from "#memory/recall/snapshots.ts";
import { makeDaemonHome } from "../helpers/daemon-home.ts";
import { endedWith, jsonOf, makeGoald, memoriesIn } from "../helpers/goald.ts";
import { listenOnLoopback } from "../helpers/loopback.ts";
import { ledger, write } from "../helpers/models.ts";
import { PINECONE_KEY, type PineconeServer, startPineconeServer } from "../helpers/pinecone-server.ts";

it("goald ingest takes in a page with the trust of the web, and reports a page that it cannot load", async () => {
  await using goald = await makeGoald();
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
  expect((await memoriesIn(goald, "shared")).find(({ source }) => source === address)).toMatchObject({
    trust: "web",
    kind: "file_chunk",
    text: expect.stringContaining("opens at ten"),
  });
  const refused = JSON.parse(endedWith(1, await from("")).stdout);
  expect(refused).toMatchObject({ sources: 0, skipped: [{ path: address }] });
});

it("memory is changed through a daemon in the middle of a step, and the agent recalls it at the next", async () => {
  await using home = await makeDaemonHome([write("a.md", "one"), write("b.md", "two")]);
  home.holdFrom(2);
  endedWith(0, await home.goald.ask(RUN_LETTER));
  await home.asked(2);
  endedWith(0, await home.goald.ask(["memory", "t", "add", "The letter to Ada is to be short"]));
  endedWith(0, await home.goald.ask(["memory", "shared", "add", "Letters to Ada go by train"]));
  home.release();
  await home.logged("turn-finished");
  const prompts = home.server.chats.map((chat) => JSON.stringify(chat));
  expect(prompts.slice(0, 2).join()).not.toContain("is to be short");
  expect(prompts.at(-1)).toMatch(/\[t\/\+1, a person\] The letter to Ada is to be short/);
  expect(prompts.at(-1)).toContain("Letters to Ada go by train");
});

const RUN_LETTER = ["run", "-d", "--name", "T", "--role", "r", "-g", "Write the letter to Ada"];

// A daemon keeps the memory of an idle agent loaded. What changes meanwhile is seen by the next wake.
it("recalls what a person added and nothing that a person forgot or removed while the agent was idle", async () => {
  const done = { name: "task_complete", args: { reason: "Done." } };
  await using home = await makeDaemonHome([done, done, done]);
  const ask = async (...args: readonly string[]) => endedWith(0, await home.goald.ask([...args]));
  await ask(...RUN_LETTER);
  await home.logged("turn-finished");
  await ask("memory", "t", "add", "Letters to Ada are written in green ink");
  await ask("say", "t", "Write another letter to Ada");
  await home.logged("turn-finished", 2);
  expect(JSON.stringify(home.server.chats.at(-1))).toContain("in green ink");
  await ask("memory", "t", "forget", "+1");
  await ask("memory", "t", "add", "Letters to Ada are short");
  await ask("say", "t", "And one more letter to Ada");
  await home.logged("turn-finished", 3);
  const prompt = JSON.stringify(home.server.chats.at(-1));
  expect(prompt).toContain("Letters to Ada are short");
  expect(prompt).not.toContain("in green ink");
  const folder = memoryFolder(join(home.goald.home, ".goald", "memory"), "t");
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, SNAPSHOT_FILE), "letters");
  await ask("rm", "t", "--files", "--force");
  expect(existsSync(folder)).toBe(false);
  const { length } = home.server.chats;
  await ask(...RUN_LETTER);
  await home.asked(length + 1);
  expect(JSON.stringify(home.server.chats[length])).not.toContain("Letters to Ada are");
});

const FOO_RUN = ["run", "--name", "Foo", "--role", "r", "--goal", "g", "--continuous"];

describe("goald run with its memory in Pinecone", () => {
  let pinecone: PineconeServer;
  afterEach(() => pinecone.close());

  /** Runs an agent to its end, and ends the daemon. The server has embeddings of 64 numbers. */
  async function runRemote(dimension: number, tasks: number) {
    pinecone = await startPineconeServer({ dimension });
    const remote = { MEMORY_BACKEND: "pinecone", PINECONE_API_KEY: PINECONE_KEY, PINECONE_INDEX: "mem" };
    const env = { ...remote, PINECONE_CONTROLLER_HOST: pinecone.url, GOALD_MEMORY_EMBEDDER: undefined };
    const home = await makeDaemonHome(ledger(tasks), { embeddings: () => undefined, env });
    const { stdout, stderr } = endedWith(0, await home.goald.ask(FOO_RUN));
    expect(stdout + stderr).not.toContain(PINECONE_KEY);
    endedWith(0, await home.goald.ask("down"));
    return { goald: home.goald, shown: `${stdout}${stderr}${await home.goald.read(".goald/log/goald.log")}` };
  }

  it("has all memories of the agent there when the daemon ends, and loses what a person forgets at once", async () => {
    const { goald } = await runRemote(64, 6);
    const { memories } = await goald.json<{ memories: { id: string; text: string }[] }>("memory foo list");
    const steps = ["Task 1 of 6", "Task 2 of 6"];
    const idOf = (step: string) => memories.find(({ text }) => text.includes(`\nThought: ${step}`))?.id ?? "";
    const found = () => steps.filter((step) => pinecone.records("foo").has(idOf(step)));
    expect(found()).toEqual(steps);
    expect(pinecone.records("foo").size).toBeGreaterThanOrEqual(5);

    endedWith(0, await goald.ask(["memory", "foo", "forget", idOf("Task 1 of 6")]));
    expect(found()).toEqual(["Task 2 of 6"]);
    endedWith(0, await goald.ask(["memory", "foo", "forget", idOf("Task 2 of 6")]));
    expect(found()).toEqual([]);
    expect(pinecone.records("foo").size).toBeGreaterThan(0);
    expect(pinecone.violations).toEqual([]);
  });

  it("reports how to fix an index that does not fit, and continues", async () => {
    const { shown } = await runRemote(1_536, 6);
    expect(shown).toContain("EMBEDDING_MODEL to a model of 1536 dimensions");
    expect(pinecone.namespaces()).toEqual([]);
  });
});
