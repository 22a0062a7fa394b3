/** A wake of a real host reads as much from the store for an old agent as for a young one. */
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, it, jest } from "@jest/globals";
import { type Host, openHost } from "#app/host.ts";
import { loadSettings } from "#config/load-settings.ts";
import { openHome } from "#config/open-home.ts";
import type { ObserverParts } from "#host/observer.ts";
import { openSqliteStore } from "#store/sqlite/open-store.ts";
import { openLog } from "#util/log.ts";
import { writeLog } from "../../bench/wake/write-log.ts";
import { useSharedFolder } from "../helpers/folder.ts";
import { homeOf } from "../helpers/goald.ts";
import { numberedModel } from "../helpers/models.ts";
import { type ChatRequest, type OpenAIServer, startOpenAIServer } from "../helpers/openai-server.ts";

const YOUNG = 100;
const OLD = 1_000;

describe("a wake", () => {
  const root = useSharedFolder();
  const findIt = () => homeOf({ home: join(root, "home"), cwd: root, userHome: root });
  let server: OpenAIServer;
  /** The model answers after it. */
  let reloading: Promise<unknown> | undefined;
  let ids: { readonly young: string; readonly old: string };
  beforeAll(async () => {
    const reply = (request: ChatRequest) => Promise.resolve(reloading).then(() => numberedModel([])(request));
    server = await startOpenAIServer({ reply, embeddings: null });
    const home = await findIt();
    await openHome(home, process.getuid?.());
    const store = await openSqliteStore(home.database);
    const write = (name: string, steps: number) => writeLog(store, { name, steps, remembers: true });
    ids = { young: await write("Young", YOUNG), old: await write("Old", OLD) };
    await store.close();
  });
  afterAll(() => server.close());

  async function open(onCommitted: ObserverParts["onCommitted"] = () => undefined): Promise<Host> {
    const home = await findIt();
    const env = { OPENAI_API_KEY: "sk-none", OPENAI_BASE_URL: server.baseUrl, GOALD_MEMORY_EMBEDDER: "offline" };
    const { settings } = await loadSettings({ home, env });
    const same = (text: string): string => text;
    const log = await openLog({ folder: join(root, "log"), redact: same, level: "silent" });
    const loaded = { settings, redact: same, scrub: same };
    return openHost({ ...loaded, home, log, load: async () => loaded, onCommitted });
  }

  it("reads as much of a log of any length, and of a memory of any size", async () => {
    await using host = await open();
    for (const id of [ids.young, ids.old]) await wake(host, id);
    const young = await rowsOfWake(host, ids.young);
    const old = await rowsOfWake(host, ids.old);
    // More rows for the old agent: a view or a step reads by the agent's age. Read a bounded page, or a number (law 8).
    expect(old).toEqual(young);
    expect(young.load + young.files + young.memories).toBeLessThan(100);
    // The report looks at 500 events.
    expect(young.read).toBeLessThan(600);
  });

  it("would read all of the memory if that were not kept (negative control)", async () => {
    await using host = await open();
    for (const id of [ids.young, ids.old]) await wake(host, id);
    await host.shared().memory.releaseUnused();
    const rows = await rowsOfWake(host, ids.old);
    expect(rows.memories).toBeGreaterThan(OLD);
  });

  it("lets go of the memory that a reload replaced, once the run that used it has ended", async () => {
    await using host = await open((_id, events) => {
      if (events.some(({ type }) => type === "model-asked")) reloading ??= host.reload();
    });
    const { memory, gate } = host.shared();
    await wake(host, ids.old);
    expect(host.shared().memory).not.toBe(memory);
    expect(host.shared().gate).toBe(gate);
    const read = jest.spyOn(host.store, "memories");
    const query = { agent: ids.old, others: [], texts: ["harbour"], count: 1, excludeSteps: new Set<number>() };
    await memory.recall(query, new AbortController().signal);
    const pages = await Promise.all(read.mock.results.map(({ value }) => value as Promise<readonly unknown[]>));
    expect(pages.flat().length).toBeGreaterThan(OLD);
  });
});

/** Says something, and waits until the agent rests and the host has discarded its runner. */
async function wake(host: Host, id: string): Promise<void> {
  await host.control.say(id, { from: "person", text: "Note the harbour." });
  while (host.supervisor.runners.has(id)) {
    await host.supervisor.runners.get(id)?.settled();
    await setTimeout(5);
  }
  expect((await host.control.agent(id)).state).toBe("completed");
}

type Loaded = readonly unknown[] | { readonly events: readonly unknown[] };

/** Counts the rows that one wake reads from the store. */
async function rowsOfWake(host: Host, id: string) {
  const rows = { load: 0, read: 0, files: 0, memories: 0 };
  const spies = (["load", "read", "files", "memories"] as const).map(
    (name) => [name, jest.spyOn(host.store, name)] as const,
  );
  await wake(host, id);
  for (const [name, spy] of spies) {
    const results = (await Promise.all(spy.mock.results.map(({ value }) => value))) as Loaded[];
    rows[name] = results.flatMap((result) => ("events" in result ? result.events : result)).length;
    spy.mockRestore();
  }
  return rows;
}
