import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it } from "@jest/globals";
import type { IndexScope, VectorIndex } from "#core/ports/memory.ts";
import { createHttp } from "#http/http.ts";
import { PineconeMemory } from "#memory/remote/pinecone.ts";
import { PineconeClient } from "#memory/remote/pinecone-client.ts";
import { ExactIndex } from "#memory/vectors/exact-index.ts";
import { vectorIndexContract } from "../contracts/vector-index.ts";
import { useOpened } from "../helpers/folder.ts";
import { type MemoryStore, openMemoryStore } from "../helpers/memory-store.ts";
import {
  PINECONE_KEY,
  type PineconeServer,
  type PineconeServerOptions,
  startPineconeServer,
} from "../helpers/pinecone-server.ts";

const keep = useOpened();
/** Longer than any machine needs for a short operation. */
const SOON_MS = 20_000;
const axis = (...values: number[]) => Float32Array.from(values);

type Rows = Readonly<Record<string, string>>;
type Settings = Partial<ConstructorParameters<typeof PineconeClient>[0]>;

interface Given {
  readonly store?: MemoryStore;
  readonly settings?: Settings;
  readonly limitMs?: number;
}

function connect({ url }: PineconeServer, { store = openMemoryStore(), settings, limitMs = SOON_MS }: Given = {}) {
  const reports: string[] = [];
  let nowMs = 0;
  const given = { apiKey: PINECONE_KEY, index: "mem", controller: url, ...settings };
  const pinecone = new PineconeMemory({
    client: new PineconeClient(given, createHttp(), limitMs),
    store,
    place: "mem",
    sendAfterMs: 60_000,
    clock: { now: () => new Date(nowMs) },
    report: (sentence) => reports.push(sentence),
  });
  const pass = (ms: number) => {
    nowMs += ms;
  };
  return { pinecone, store, reports, pass };
}

function index(pinecone: PineconeMemory, texts: Rows = {}, given: Partial<IndexScope> = {}) {
  const { namespace = "foo", embedder = "e@3", dimensions = 3 } = given;
  return pinecone.open({
    namespace,
    dimensions,
    embedder,
    local: new ExactIndex(dimensions),
    rows: {
      at: (slot) => ({ id: `${namespace}/${slot}` }),
      read: async (id) => {
        const slot = Number(id.slice(namespace.length + 1));
        const text = texts[slot] ?? `text ${slot}`;
        return { id, seq: slot, kind: "step", trust: "agent", at: "2026-11-20T10:00:00.000Z", text };
      },
      has: (id) => Object.hasOwn(texts, id.slice(namespace.length + 1)),
    },
  });
}

async function start(options: PineconeServerOptions = {}, given: Given = {}) {
  const server = keep(await startPineconeServer(options));
  return { server, ...connect(server, given) };
}
/** Opens the index of foo and sends its first row. */
async function sendOne(pinecone: PineconeMemory) {
  const foo = index(pinecone);
  await foo.add(1, axis(1, 0, 0));
  await pinecone.flush(SOON_MS);
  return foo;
}
const idsIn = (server: PineconeServer, namespace = "foo") => [...server.records(namespace).keys()];
const slots = (found: readonly { readonly slot: number }[]) => found.map(({ slot }) => slot);

/** An index that sends everything before it is searched. */
async function openSent(dimensions: number): Promise<VectorIndex> {
  const { server, pinecone } = await start({ dimension: dimensions });
  const sent = index(pinecone, {}, { dimensions });
  const search = sent.search.bind(sent);
  const searchSent: VectorIndex["search"] = async (query, count) => {
    await pinecone.flush(SOON_MS);
    const found = await search(query, count);
    expect(server.violations).toEqual([]);
    return found;
  };
  return Object.assign(sent, { search: searchSent });
}
vectorIndexContract("Pinecone, when everything was sent", openSent);

describe("a Pinecone index", () => {
  it("loses forgotten rows, also when nothing is recalled after that", async () => {
    const { server, pinecone, store } = await start();
    const note = { op: "add", kind: "note", text: "x", importance: 1, trust: "person" } as const;
    await store.curate("shared", [note, note], "k", "2026-11-20T10:00:00.000Z");
    const shared = index(pinecone, { "+1": "secret", "+2": "plain" }, { namespace: "shared" });
    const rows = ["+1", "+2"].map(async (slot, at) => shared.add(slot as unknown as number, axis(1, at, 0)));
    await Promise.all(rows);
    await pinecone.flush(SOON_MS);
    expect(idsIn(server, "shared")).toEqual(["shared/+1", "shared/+2"]);
    await pinecone.removeForgotten();
    expect(server.records("shared").size).toBe(2);
    await store.curate("shared", [{ op: "forget", id: "shared/+1", by: "person" }], "k 2", "2026-11-20T10:00:00.000Z");
    await pinecone.removeForgotten();
    expect(idsIn(server, "shared")).toEqual(["shared/+2"]);
    expect((await store.remoteRows("mem", "shared", "", 9)).map(({ id }) => id)).toEqual(["shared/+2"]);
  });

  it("gets the rows with their metadata, and finds them", async () => {
    const { server, pinecone } = await start();
    const foo = index(pinecone, { 1: "one", 2: "ü".repeat(9_000) });
    await foo.add(1, axis(1, 0, 0));
    await foo.add(2, axis(0, 2, 0));
    await pinecone.flush(SOON_MS);
    expect(idsIn(server)).toEqual(["foo/1", "foo/2"]);
    expect(server.records("foo").get("foo/1")).toEqual({
      id: "foo/1",
      values: [1, 0, 0],
      metadata: { kind: "step", trust: "agent", seq: 1, ts: 1_795_168_800_000, embedder: "e@3", text: "one" },
    });
    expect(server.records("foo").get("foo/2")?.metadata?.text).toBe("ü".repeat(4_096));
    expect(slots(await foo.search(axis(0.1, 1, 0), 5))).toEqual([2, 1]);
    expect(server.count("/query")).toBe(1);
    expect(server.violations).toEqual([]);
  });

  it("keeps namespaces apart, whatever the script of their names", async () => {
    const { server, pinecone } = await start();
    const names = ["foo", "shared", "köln-日本"];
    const indexes = names.map((namespace) => index(pinecone, {}, { namespace }));
    for (const [at, one] of indexes.entries()) await one.add(at, axis(1, at, 0));
    await pinecone.flush(SOON_MS);
    for (const [at, one] of indexes.entries()) expect(slots(await one.search(axis(1, 0, 0), 9))).toEqual([at]);
    expect(server.namespaces()).toHaveLength(3);
    expect(server.violations).toEqual([]);
  });

  it("finds no vector of another embedder, and none of them displaces a hit", async () => {
    const { server, pinecone, store } = await start();
    await sendOne(pinecone);
    const later = connect(server, { store });
    const foo = index(later.pinecone, { 1: "text 1" }, { embedder: "other@3" });
    await foo.add(2, axis(0, 1, 0));
    await later.pinecone.flush(SOON_MS);
    for (const count of [5, 1]) expect(slots(await foo.search(axis(1, 0, 0), count))).toEqual([2]);
    expect(idsIn(server)).toEqual(["foo/1", "foo/2"]);
  });

  it.each([true, false])("finds rows that are not shown yet (sequence numbers: %s)", async (tellsProgress) => {
    const { server, pinecone, pass } = await start({ visibleAfterMs: 400, tellsProgress });
    const foo = index(pinecone);
    await foo.add(1, axis(1, 0, 0));
    expect(slots(await foo.search(axis(1, 0, 0), 5))).toEqual([1]);
    await pinecone.flush(SOON_MS);
    await foo.add(2, axis(0.9, 0.1, 0));
    expect(slots(await foo.search(axis(1, 0, 0), 5))).toEqual([1, 2]);
    await foo.remove(1);
    expect(slots(await foo.search(axis(1, 0, 0), 5))).toEqual([2]);
    await pinecone.flush(SOON_MS);
    expect(slots(await foo.search(axis(1, 0, 0), 5))).toEqual([2]);
    await sleep(450);
    pass(61_000);
    expect(slots(await foo.search(axis(1, 0, 0), 5))).toEqual([2]);
    expect(idsIn(server)).toEqual(["foo/2"]);
    expect(slots(await foo.search(axis(1, 0, 0), 5))).toEqual([2]);
    expect(server.count("/query")).toBe(5);
  });

  it("deletes forgotten rows, also those that an earlier process sent", async () => {
    const { server, pinecone, store } = await start();
    const foo = index(pinecone);
    for (const slot of [1, 2, 3]) await foo.add(slot, axis(slot, 1, 0));
    await pinecone.flush(SOON_MS);
    await foo.remove(2);
    await pinecone.flush(SOON_MS);
    expect(idsIn(server)).toEqual(["foo/1", "foo/3"]);
    const later = connect(server, { store });
    const again = index(later.pinecone, { 3: "text 3" });
    await again.add(3, axis(3, 1, 0));
    await again.search(axis(1, 0, 0), 1);
    await later.pinecone.flush(SOON_MS);
    expect(idsIn(server)).toEqual(["foo/3"]);
    expect(server.count("/vectors/upsert")).toBe(1);
    expect(await store.remoteRows("mem", "foo", "", 9)).toHaveLength(1);
  });

  it("gets unsent rows on close, each once, and deletes the namespaces of removed agents", async () => {
    const { server, pinecone } = await start();
    const sizes = () => ["foo", "bar"].map((namespace) => server.records(namespace).size);
    for (const namespace of ["foo", "bar"]) {
      const opened = index(pinecone, {}, { namespace });
      await opened.add(1, axis(1, 0, 0));
      await opened.close();
    }
    await pinecone.flush(SOON_MS);
    expect(sizes()).toEqual([1, 1]);
    await sendOne(pinecone);
    expect(server.count("/vectors/upsert")).toBe(2);
    await pinecone.forgetRemoved((name) => name === "bar");
    expect(sizes()).toEqual([0, 1]);
  });

  it("gets everything again when it was recreated", async () => {
    const store = openMemoryStore();
    const first = await start({}, { store });
    await sendOne(first.pinecone);
    const second = await start({}, { store });
    const foo = index(second.pinecone);
    await foo.add(1, axis(1, 0, 0));
    expect(slots(await foo.search(axis(1, 0, 0), 5))).toEqual([1]);
    await second.pinecone.flush(SOON_MS);
    expect(idsIn(second.server)).toEqual(["foo/1"]);
  });

  it("gets many rows in batches below its limits", async () => {
    const { server, pinecone } = await start({ dimension: 1_536 });
    const foo = index(pinecone, {}, { dimensions: 1_536, embedder: "e@1536" });
    const vectorOf = (slot: number) => new Float32Array(1_536).map((_, at) => Math.sin(slot + at));
    for (let slot = 0; slot < 150; slot++) await foo.add(slot, vectorOf(slot));
    await pinecone.flush(SOON_MS);
    expect(server.records("foo").size).toBe(150);
    const bytes = server.requests.map(({ body }) => JSON.stringify(body ?? "").length);
    expect(Math.max(...bytes)).toBeLessThan(2_000_000);
    expect(server.count("/vectors/upsert")).toBeGreaterThan(1);
  });
});

describe("a failing Pinecone", () => {
  it.each<[title: string, trouble: NonNullable<PineconeServer["trouble"]>, words: RegExp]>([
    ["answers 503", () => ({ status: 503, body: "busy" }), /answered 503/],
    ["wants fewer requests", () => ({ status: 429, headers: { "retry-after": "30" } }), /fewer requests/],
    ["never answers", () => "stall", /No complete answer/],
    ["cuts the connection", () => "cut", /No usable answer/],
    ["answers HTML", () => ({ status: 200, body: "<html>" }), /./],
    ["answers no list", () => ({ status: 200, body: { matches: "all of them" } }), /No usable answer/],
    ["answers matches without scores", () => ({ status: 200, body: { matches: [{ id: 7 }] } }), /without an id/],
    ["redirects", () => ({ status: 302, headers: { location: "http://127.0.0.1:9/" } }), /redirect/],
    ["refuses the key", () => ({ status: 401, body: `no ${PINECONE_KEY}` }), /PINECONE_API_KEY/],
    ["is gone", () => ({ status: 404, body: {} }), /PINECONE_INDEX/],
  ])("that %s: one report; the local index answers until it is back", async (_title, trouble, words) => {
    // Only the case of a wait has a short limit, so that a slow machine does not fail the others.
    const limitMs = trouble("/query", {}) === "stall" ? 1_000 : SOON_MS;
    const { server, pinecone, reports, pass } = await start({}, { limitMs });
    const foo = index(pinecone);
    for (const slot of [1, 2, 3]) await foo.add(slot, axis(slot, 1, 0));
    await pinecone.flush(SOON_MS);
    server.trouble = (path, body) => (path === "/query" ? trouble(path, body) : undefined);
    for (let step = 0; step < 4; step++) expect(slots(await foo.search(axis(1, 0, 0), 2))).toEqual([3, 2]);
    expect(reports).toEqual([expect.stringMatching(words)]);
    expect(reports.join()).not.toContain(PINECONE_KEY);
    expect(server.count("/query")).toBe(1);
    server.trouble = undefined;
    pass(11 * 60_000);
    expect(slots(await foo.search(axis(1, 0, 0), 2))).toEqual([3, 2]);
    expect(server.count("/query")).toBe(2);
    expect(reports.slice(1)).toEqual([expect.stringContaining("answers again")]);
  });

  it("is left alone for longer and longer, or as long as it asks", async () => {
    const { server, pinecone, pass } = await start();
    const foo = await sendOne(pinecone);
    server.trouble = () => ({ status: 503 });
    const askedAfter = async (ms: number) => {
      pass(ms);
      const before = server.count("/query");
      await foo.search(axis(1, 0, 0), 1);
      return server.count("/query") > before;
    };
    expect(await askedAfter(0)).toBe(true);
    expect([await askedAfter(900), await askedAfter(200)]).toEqual([false, true]);
    expect([await askedAfter(1_900), await askedAfter(200)]).toEqual([false, true]);
    server.trouble = () => ({ status: 429, headers: { "retry-after": "90" } });
    expect(await askedAfter(60_000)).toBe(true);
    expect([await askedAfter(89_000), await askedAfter(2_000)]).toEqual([false, true]);
  });

  it("fails once when it fails for several searches at a time", async () => {
    const { server, pinecone, reports, pass } = await start();
    const foo = await sendOne(pinecone);
    server.trouble = () => ({ status: 503 });
    const found = await Promise.all([1, 2, 3, 4].map((x) => foo.search(axis(x, 1, 0), 1)));
    expect(found.map(slots)).toEqual([[1], [1], [1], [1]]);
    expect([server.count("/query"), reports.length]).toEqual([4, 1]);
    pass(1_100);
    await foo.search(axis(1, 0, 0), 1);
    expect(server.count("/query")).toBe(5);
  });

  it("gets the changes and deletions of the outage after it, each once", async () => {
    const { server, pinecone, pass } = await start();
    const foo = await sendOne(pinecone);
    server.trouble = () => "cut";
    await foo.add(2, axis(0, 1, 0));
    await foo.remove(1);
    await pinecone.flush(SOON_MS);
    expect(slots(await foo.search(axis(1, 0, 0), 5))).toEqual([2]);
    server.trouble = undefined;
    pass(60_000);
    await pinecone.flush(SOON_MS);
    expect(idsIn(server)).toEqual(["foo/2"]);
    const before = server.requests.length;
    await pinecone.flush(SOON_MS);
    expect(server.requests).toHaveLength(before);
  });

  it("keeps no row that it took without an answer and that was forgotten meanwhile", async () => {
    const { server, pinecone, store } = await start();
    server.trouble = (path) => (path === "/vectors/upsert" ? "lost" : undefined);
    await sendOne(pinecone);
    expect(idsIn(server)).toEqual(["foo/1"]);
    server.trouble = undefined;
    const later = connect(server, { store });
    const foo = index(later.pinecone);
    await foo.search(axis(1, 0, 0), 1);
    await later.pinecone.flush(SOON_MS);
    expect(server.records("foo").size).toBe(0);
  });

  it("that rejects one row takes the others", async () => {
    const { server, pinecone } = await start();
    const isPoisoned = (path: string, body: unknown) =>
      path.endsWith("/upsert") && JSON.stringify(body).includes("poison");
    server.trouble = (path, body) => (isPoisoned(path, body) ? { status: 400, body: "no" } : undefined);
    const foo = index(pinecone, { 3: "poison" });
    for (const slot of [1, 2, 3, 4]) await foo.add(slot, axis(slot, 1, 0));
    await pinecone.flush(SOON_MS);
    expect(idsIn(server)).toEqual(["foo/1", "foo/2", "foo/4"]);
    expect(slots(await foo.search(axis(3, 1, 0), 1))).toEqual([3]);
  });
});

describe("a Pinecone index that does not fit", () => {
  it.each<[title: string, options: PineconeServerOptions, settings: Settings, words: RegExp]>([
    ["has more dimensions", { dimension: 1_536 }, {}, /1536 dim.* makes 3.*EMBEDDING_MODEL to a model of 1536/],
    ["has another metric", { metric: "euclidean" }, {}, /euclidean, expected cosine/],
    ["is not named", {}, { index: null }, /PINECONE_INDEX/],
    ["does not exist", {}, { index: "other" }, /does not know this index/],
    ["has the host of a stranger", { described: { host: "evil.example" } }, {}, /key is not sent/],
  ])("because it %s is reported once; the local index answers", async (_title, options, settings, words) => {
    const { server, pinecone, reports } = await start(options, { settings });
    await pinecone.start(3);
    const foo = await sendOne(pinecone);
    for (let step = 0; step < 3; step++) expect(slots(await foo.search(axis(1, 0, 0), 5))).toEqual([1]);
    expect(reports).toEqual([expect.stringMatching(words)]);
    expect([server.count("/vectors/upsert"), server.count("/query")]).toEqual([0, 0]);
  });
});
