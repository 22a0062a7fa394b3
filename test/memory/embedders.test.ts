import { describe, expect, it } from "@jest/globals";
import { GoaldError } from "#core/errors.ts";
import type { Embedder } from "#core/ports/memory.ts";
import { openWordEmbedder } from "#memory/vectors/offline-embedder.ts";
import { cachedEmbedder, fallbackEmbedder } from "#memory/vectors/server-embedder.ts";
import { openWordTable } from "#memory/words/word-table.ts";
import { wordsOf } from "#util/words.ts";
import { embedderContract } from "../contracts/models.ts";
import { fixedEmbedder, openHashEmbedder } from "../helpers/memory-rows.ts";

embedderContract("the offline embedder", () => openWordEmbedder());

const live = new AbortController().signal;
async function cosineOf(embedder: Embedder, a: string, b: string): Promise<number> {
  const [left, right] = await embedder.embed([a, b], live);
  return (left as Float32Array).reduce((sum, component, at) => sum + component * (right?.[at] ?? 0), 0);
}
const QUESTION = "Which vehicle does the physician own?";
const ANSWER = "A doctor bought that car.";
const OTHER = "Snow fell on mountain villages.";

describe("the offline embedder", () => {
  it("is local, knows meanings, costs nothing, and has an id that names its version", () => {
    const traits = { id: "words-v1@192", local: true, semantic: true, isInstant: true };
    expect(openWordEmbedder()).toMatchObject(traits);
  });

  it("brings a question near to its answer in other words, which hashes of words do not", async () => {
    const marginOf = async (embedder: Embedder) =>
      (await cosineOf(embedder, QUESTION, ANSWER)) - (await cosineOf(embedder, QUESTION, OTHER));
    expect(await marginOf(openWordEmbedder())).toBeGreaterThan(0.3);
    expect(await marginOf(openHashEmbedder())).toBeLessThan(0.1);
  });

  it("uses spelling alone where it knows less than half of the words", async () => {
    const [unknown, known] = await openWordEmbedder().embed(["xqzzyv qwvvkk road", "xqzzyv narrow road"], live);
    expect(Math.hypot(...(unknown?.subarray(0, 100) ?? []))).toBe(0);
    expect(Math.hypot(...(known?.subarray(0, 100) ?? []))).toBeCloseTo(Math.sqrt(0.85), 3);
    expect(await cosineOf(openWordEmbedder(), "xqzzyv qwvvkk", "qwvvkk xqzzyv")).toBeCloseTo(1, 4);
  });

  it("makes the same vector in any company", async () => {
    const [alone] = await openWordEmbedder().embed([ANSWER], live);
    const [, among] = await openWordEmbedder().embed([OTHER, ANSWER, QUESTION], live);
    expect(among).toEqual(alone);
  });

  it("rejects while its table is missing", async () => {
    const { embed } = openWordEmbedder(() => openWordTable(Buffer.alloc(9)));
    await expect(embed([ANSWER], live)).rejects.toThrow(/Expected a table of words/);
  });
});

embedderContract("the embedder of spellings", () => openHashEmbedder());
embedderContract("the fixed embedder of the tests", () => fixedEmbedder());

const similarity = (a: string, b: string): Promise<number> => cosineOf(openHashEmbedder(), a, b);

describe("the hash of the words of a text", () => {
  it("returns the same vectors as before: changed features need a new version", async () => {
    const [vector] = await openHashEmbedder(16).embed(["Tennis strings, 12 reviews"], live);
    expect([...(vector ?? [])].map((component) => Math.round(component * 1000))).toEqual([
      ...[-354, 412, -224, 56, 0, -112, -56, -332, 169, -112, 282, -578, -169, -112, -169, 0],
    ]);
  });

  it.each([
    ["inflected words", "She recommended strings", "a string recommendation", "The weather was cold"],
    ["a misspelling", "the tension of the racket", "racquet tension", "a bowl of soup"],
    ["Chinese without spaces", "我喜欢网球拍的线", "网球拍", "今天天气很好"],
    ["an identifier in parts", "function parseRetryAfter(header)", "retry after", "open the window"],
    ["words among stop words", "what is it that you have of the magnesium", "magnesium", "what is it that you have"],
  ])("puts texts that share %s nearer than others", async (_title, text, near, far) => {
    expect(await similarity(text, near)).toBeGreaterThan((await similarity(text, far)) + 0.1);
  });

  it("does not let a word repeated a hundred times dominate", async () => {
    const often = `${"tennis ".repeat(100)} magnesium supplier in Leipzig`;
    expect(await similarity(often, "magnesium supplier in Leipzig")).toBeGreaterThan(0.25);
  });
});

it.each([
  ["Hello, World!", ["hello", "world"]],
  ["parseRetryAfter", ["parseretryafter", "parse", "retry", "after"]],
  ["src/core/event.ts", ["src", "core", "event", "ts"]],
  ["Straße ﬁx Ａ１", ["strasse", "fix", "a1"]],
  ["東京都", ["東", "京", "東京", "都", "京都"]],
  ["한국어 123", ["한", "국", "한국", "어", "국어", "123"]],
  ["", []],
])("words of %j are %j", (text, words) => {
  expect(wordsOf(text)).toEqual(words);
});

embedderContract("a cached embedder", () => cachedEmbedder(fixedEmbedder()));

describe("a cached embedder", () => {
  it("requests each text once, also within one call, and returns each text its own vector", async () => {
    const embedder = fixedEmbedder();
    const cached = cachedEmbedder(embedder);
    await cached.embed(["a", "b", "a"], live);
    const vectors = await cached.embed(["c", "a", "b"], live);
    expect(embedder.requests).toEqual([["a", "b"], ["c"]]);
    expect(vectors).toEqual(["c", "a", "b"].map(embedder.vectorOf));
    await cached.embed(["b"], live);
    expect(embedder.requests).toHaveLength(2);
  });

  it("keeps the most recently used vectors within its limit", async () => {
    const embedder = fixedEmbedder({ dimensions: 64 });
    const cached = cachedEmbedder(embedder, 2 * 64);
    for (const text of ["a", "b", "a", "c", "a", "b"]) await cached.embed([text], live);
    expect(embedder.requests.flat()).toEqual(["a", "b", "c", "b"]);
  });

  it("caches nothing from a failed or incomplete request", async () => {
    const embedder = fixedEmbedder();
    const cached = cachedEmbedder(embedder);
    embedder.instead = async () => Promise.reject(new Error("HTTP 500"));
    await expect(cached.embed(["a"], live)).rejects.toThrow("HTTP 500");
    embedder.instead = async () => [];
    expect(await cached.embed(["a"], live)).toEqual([]);
    embedder.instead = undefined;
    expect(await cached.embed(["a"], live)).toEqual([embedder.vectorOf("a")]);
  });

  it("returns no cached vector after the embedder changed its id", async () => {
    const embedder = fixedEmbedder();
    let id = "one@64";
    const cached = cachedEmbedder(Object.defineProperty({ ...embedder }, "id", { get: () => id }));
    await cached.embed(["a"], live);
    id = "two@64";
    await cached.embed(["a"], live);
    expect([cached.id, embedder.requests.length]).toEqual(["two@64", 2]);
  });
});

const REFUSAL = new GoaldError("GOALD_HTTP_REFUSED", "HTTP 404");
const failing = (error: unknown) => async () => Promise.reject(error);

function make() {
  const primary = fixedEmbedder({ id: "server@8", dimensions: 8 });
  const local = fixedEmbedder({ id: "local@16", dimensions: 16, local: true });
  const reasons: string[] = [];
  return { primary, local, reasons, embedder: fallbackEmbedder(primary, local, (reason) => reasons.push(reason)) };
}

embedderContract("an embedder with a fallback, on its server", () =>
  fallbackEmbedder(fixedEmbedder(), fixedEmbedder(), () => {}),
);

describe("an embedder with a fallback", () => {
  it("keeps using a server that answered once, and passes its failures on", async () => {
    const { embedder, primary, local, reasons } = make();
    await embedder.embed(["a"], live);
    primary.instead = failing(REFUSAL);
    await expect(embedder.embed(["b"], live)).rejects.toThrow("HTTP 404");
    expect(embedder).toMatchObject({ id: "server@8", dimensions: 8, local: false });
    expect([local.requests, reasons]).toEqual([[], []]);
  });

  it.each<[title: string, error: unknown]>([
    ["refuses the request or connections", REFUSAL],
    ["has been silent for too long", new DOMException("The operation timed out.", "TimeoutError")],
  ])("changes to the local embedder for good when the server %s", async (_title, error) => {
    const { embedder, primary, local, reasons } = make();
    primary.instead = failing(error);
    const [vector] = await embedder.embed(["a"], live);
    expect(vector).toHaveLength(16);
    primary.instead = undefined;
    await embedder.embed(["b"], live);
    expect(embedder).toMatchObject({ id: "local@16", dimensions: 16, local: true });
    expect(primary.requests).toHaveLength(1);
    expect(local.requests).toEqual([["a"], ["b"]]);
    expect(reasons).toHaveLength(1);
  });

  it.each<[title: string, error: unknown]>([
    ["is busy", new GoaldError("GOALD_MODEL", "HTTP 429")],
    ["answers invalid JSON", new SyntaxError("Unexpected token")],
    ["throws a string", "oops"],
    ["throws undefined", undefined],
  ])("decides nothing and calls the server again when it %s", async (_title, error) => {
    const { embedder, primary, reasons } = make();
    primary.instead = failing(error);
    await expect(embedder.embed(["a"], live)).rejects.toBe(error);
    primary.instead = undefined;
    expect((await embedder.embed(["a"], live))[0]).toHaveLength(8);
    expect(reasons).toEqual([]);
  });

  it("decides nothing on a person's abort", async () => {
    const stopped = make();
    stopped.primary.instead = failing(REFUSAL);
    await expect(stopped.embedder.embed(["a"], AbortSignal.abort())).rejects.toThrow("HTTP 404");
    expect(stopped.embedder.local).toBe(false);
  });

  it("answers concurrent first calls with vectors of one embedder", async () => {
    const { embedder, primary, reasons } = make();
    primary.instead = failing(REFUSAL);
    const answers = await Promise.all(["a", "b", "c"].map((text) => embedder.embed([text], live)));
    expect(answers.map(([vector]) => vector?.length)).toEqual([16, 16, 16]);
    expect([primary.requests.length, reasons.length]).toEqual([1, 1]);
  });
});
