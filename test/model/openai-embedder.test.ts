import { describe, expect, it } from "@jest/globals";
import { type ErrorCode, isGoaldError } from "#core/errors.ts";
import { createHttp } from "#http/http.ts";
import { GuardedEmbedder } from "#memory/vectors/server-embedder.ts";
import { dot } from "#memory/vectors/unit-vector.ts";
import { createOpenAIEmbedder, type OpenAIEmbedderSettings } from "#model/openai-embedder.ts";
import { failureOf, useOpened } from "../helpers/folder.ts";
import {
  type Answer,
  base64Of,
  type EmbeddingRequest,
  failure,
  startOpenAIServer,
  timeoutMsFor,
} from "../helpers/openai-server.ts";

const live = new AbortController().signal;
const keep = useOpened();

async function start(
  options: Parameters<typeof startOpenAIServer>[0] = {},
  settings: Partial<OpenAIEmbedderSettings> = {},
) {
  const server = keep(await startOpenAIServer(options));
  const { baseUrl } = server;
  const given = { baseUrl, apiKey: "sk-planted-4fQ9wZ7xLm2", model: "embed", http: createHttp(), timeoutMs: 120_000 };
  const embedder = createOpenAIEmbedder({ ...given, ...settings });
  const inputs = () => server.requests.map(({ body }) => (body as { input: string[] }).input);
  return { server, embedder, inputs };
}
const answering = (answer: Answer) => start({ embeddings: () => answer });
const list = (embeddings: readonly unknown[]): Answer => ({
  status: 200,
  body: { object: "list", data: embeddings.map((embedding, index) => ({ object: "embedding", index, embedding })) },
});
const ONE = [1, 0];

describe("the OpenAI embedder", () => {
  it("returns unit vectors in the order of the texts", async () => {
    const { embedder, server } = await start();
    const vectors = await embedder.embed(["tennis strings", "strings for tennis", "income tax"], live);
    const [tennis, strings, tax] = vectors as [Float32Array, Float32Array, Float32Array];
    for (const vector of vectors) expect(dot(vector, vector)).toBeCloseTo(1, 5);
    expect(dot(tennis, strings)).toBeGreaterThan(dot(tennis, tax));
    expect(server.violations).toEqual([]);
    expect(embedder.local).toBe(false);
  });

  it("has its id from the first answer", async () => {
    const { embedder, server } = await start({ dimensions: 48 });
    expect([embedder.id, embedder.dimensions]).toEqual(["embed@0", 0]);
    await embedder.embed(["x"], live);
    expect([embedder.id, embedder.dimensions]).toEqual(["embed@48", 48]);
    expect(server.requests[0]?.body).not.toHaveProperty("dimensions");
  });

  it.each<[string, unknown]>([
    ["numbers", [3, 0, 4]],
    ["base64", base64Of(Float32Array.of(3, 0, 4))],
  ])("reads %s alike", async (_title, embedding) => {
    const { embedder } = await answering(list([embedding]));
    const [vector] = await embedder.embed(["x"], live);
    expect([...(vector ?? [])]).toEqual([Math.fround(0.6), 0, Math.fround(0.8)]);
  });

  it("sorts vectors by index, or keeps the input's order without one", async () => {
    const vectors = [[0, 1], ONE];
    const embedded = async (data: readonly object[]) => {
      const { embedder } = await answering({ status: 200, body: { data } });
      return (await embedder.embed(["a", "b"], live)).map((vector) => [...vector]);
    };
    expect(await embedded(vectors.map((embedding, at) => ({ index: 1 - at, embedding })))).toEqual(
      vectors.toReversed(),
    );
    expect(await embedded(vectors.map((embedding) => ({ embedding })))).toEqual(vectors);
  });

  it("sends 96 texts per request, fewer long ones, and no request for no texts", async () => {
    const { embedder, inputs } = await start();
    const texts = Array.from({ length: 200 }, (_, index) => `text number ${index}`);
    const vectors = await embedder.embed(texts, live);
    expect(inputs().map(({ length }) => length)).toEqual([96, 96, 8]);
    expect(vectors).toHaveLength(200);
    expect(await embedder.embed(["text number 150"], live)).toEqual([vectors[150]]);
    expect(await embedder.embed([], live)).toEqual([]);
    expect(inputs()).toHaveLength(4);
    const long = Array.from({ length: 40 }, (_, row) => `${row} ${"word ".repeat(4_000)}`);
    await embedder.embed(long, live);
    expect(inputs().map(({ length }) => length)).toEqual([96, 96, 8, 1, 14, 14, 12]);
  });

  it("truncates long texts without splitting characters, and sends a blank for an empty one", async () => {
    const { embedder, inputs, server } = await start();
    await embedder.embed([`${"x".repeat(23_999)}🎾 and more`, "", "\ud800"], live);
    expect(inputs()).toEqual([[`${"x".repeat(23_999)}\ufffd`, " ", "\ufffd"]]);
    expect(server.violations).toEqual([]);
  });

  it("truncates further if the model accepts less, and remembers it", async () => {
    const limited = ({ input }: EmbeddingRequest): Answer | undefined =>
      [input].flat().some((text) => text.length > 1_000)
        ? failure(400, "the input length exceeds the context length")
        : undefined;
    const { embedder, inputs } = await start({ embeddings: limited });
    await embedder.embed(["x".repeat(50_000)], live);
    await embedder.embed(["x".repeat(50_000)], live);
    expect(inputs().map(([text]) => text?.length)).toEqual([24_000, 6_000, 1_500, 400, 400]);
    const both = await start({ embeddings: limited });
    await Promise.all(["x", "y"].map((letter) => both.embedder.embed([letter.repeat(50_000)], live)));
    expect(both.inputs().map(([text]) => text?.length)).toEqual([24_000, 24_000, 6_000, 6_000, 1_500, 1_500, 400, 400]);
  });

  it.each<[string, Answer]>([
    ["too few vectors", list([ONE])],
    ["too many vectors", list([ONE, [0, 1], [1, 1]])],
    ["vectors of different lengths", list([ONE, [0, 1, 0]])],
    ["a vector with null in it", list([ONE, [0, null]])],
    ["empty vectors", list([[], []])],
    ["zero vectors", list(Array(2).fill([0, 0]))],
    ["base64 that is cut off", list([[1, 0], "AAAAAAA"])],
    ["no vectors at all", { status: 200, body: { object: "list" } }],
    ["a web page", { status: 200, body: "<html>" }],
    ["the same index twice", { status: 200, body: { data: Array(2).fill({ index: 0, embedding: [1] }) } }],
    ["items that are no objects", { status: 200, body: { data: [null, 3] } }],
  ])("refuses %s", async (_title, answer) => {
    const { embedder } = await answering(answer);
    const error = await failureOf(embedder.embed(["a", "b"], live));
    expect(isGoaldError(error, "GOALD_HTTP_REFUSED")).toBe(true);
    expect(embedder.id).toBe("embed@0");
  });

  it.each<[string, unknown]>([
    ["a zero vector", [0, 0]],
    ["NaN in base64", base64Of(Float32Array.of(Number.NaN, 1))],
    ["a number beyond 32 bits", [1e300, 1]],
  ])("keeps the other vectors of an answer with %s", async (_title, bad) => {
    const { embedder } = await answering(list([ONE, bad]));
    const guarded = new GuardedEmbedder(embedder, 120_000, () => undefined);
    expect(await guarded.embed(["a", "b"], live)).toEqual([Float32Array.of(1, 0), null]);
  });

  const has = (text: string) => (input: readonly string[]) => input.includes(text);
  const over = (most: number) => (input: readonly string[]) => input.length > most;
  const tooMany = { status: 413, body: { error: "batch size 96 > maximum allowed batch size 32" } };
  it.each<[string, Answer, rejects: (input: readonly string[]) => boolean, unusable: number, requests: number]>([
    ["a text", failure(400, "no"), has("text 40"), 1, 15],
    ["a text whose vector is NaN, as Ollama", failure(500, "unsupported value: NaN"), has("text 0"), 1, 15],
    ["more than ten, as DashScope", failure(400, "batch size is invalid"), over(10), 0, 31],
    ["more than 32, as text-embeddings-inference", tooMany, over(32), 0, 7],
  ])("gets the other vectors from a server that rejects %s", async (_title, answer, rejects, unusable, requests) => {
    const embeddings = ({ input }: EmbeddingRequest) => (rejects([input].flat()) ? answer : undefined);
    const { embedder, inputs } = await start({ embeddings });
    const texts = Array.from({ length: 96 }, (_, at) => `text ${at}`);
    const vectors = await embedder.embed(texts, live);
    expect([vectors.length, vectors.filter(([first]) => Number.isNaN(first)).length]).toEqual([96, unusable]);
    await embedder.embed(texts.slice(50), live);
    expect(inputs().findLastIndex(rejects)).toBeLessThan(requests);
  });

  it("refuses vectors of other dimensions than before", async () => {
    let size = 3;
    const { embedder } = await start({ embeddings: () => list([Array.from({ length: size }, () => 1)]) });
    await embedder.embed(["a"], live);
    size = 4;
    const words = "vectors of 3 dimensions were expected and one of 4 came";
    expect(String(await failureOf(embedder.embed(["a"], live)))).toContain(words);
  });

  it.each<[string, Answer, boolean, ErrorCode]>([
    ["400", failure(400, "This model does not support embeddings"), true, "GOALD_HTTP_REFUSED"],
    ["401", { status: 401 }, true, "GOALD_HTTP_REFUSED"],
    ["404", { status: 404 }, true, "GOALD_HTTP_REFUSED"],
    ["501", { status: 501 }, true, "GOALD_HTTP_REFUSED"],
    ["exhausted quota", failure(429, "Later.", "insufficient_quota"), true, "GOALD_HTTP_REFUSED"],
    ["429", { status: 429 }, false, "GOALD_MODEL"],
    ["500", { status: 500 }, false, "GOALD_MODEL"],
    ["a broken connection", { fault: "close" }, false, "GOALD_HTTP_REFUSED"],
    ["half an answer", { fault: "cut" }, false, "GOALD_MODEL"],
    ["silence", { fault: "stall" }, false, "GOALD_HTTP_REFUSED"],
  ])("after %s reports whether a retry can help, and another embedder", async (_title, answer, unavailable, code) => {
    const { embedder } = await start({ embeddings: () => answer }, { timeoutMs: timeoutMsFor(answer) });
    const error = await failureOf(embedder.embed(["a"], live));
    expect(isGoaldError(error, code)).toBe(true);
    expect(String(error)).toContain(unavailable ? "will not pass" : "may pass");
    expect(String(error)).not.toContain("planted");
  });

  it("rejects with the signal's reason before and during a request", async () => {
    const { embedder, server } = await answering({ fault: "stall" });
    const reason = new Error("enough");
    expect(await failureOf(embedder.embed(["a"], AbortSignal.abort(reason)))).toBe(reason);
    expect(server.requests).toEqual([]);
    const controller = new AbortController();
    setTimeout(() => controller.abort(reason), 100);
    expect(await failureOf(embedder.embed(["a"], controller.signal))).toBe(reason);
  });

  it("waits for a short pause, and reports a long one", async () => {
    const naps: number[] = [];
    const clock = { sleep: async (ms: number) => void naps.push(ms) };
    const busy = (seconds: string) => ({ status: 429, headers: { "retry-after": seconds }, body: { error: "busy" } });
    const short = await start({ embeddings: (_request, index) => (index < 2 ? busy("2") : undefined) }, { clock });
    expect(await short.embedder.embed(["a"], live)).toHaveLength(1);
    expect(naps).toEqual([2_000, 2_000]);
    const long = await start({ embeddings: () => busy("40") }, { clock });
    expect(await failureOf(long.embedder.embed(["a"], live))).toMatchObject({ afterMs: 40_000, code: "GOALD_MODEL" });
    const stubborn = await start({ embeddings: () => busy("1") }, { clock });
    expect(await failureOf(stubborn.embedder.embed(["a"], live))).toMatchObject({ afterMs: 1_000 });
    expect([long.server.requests.length, stubborn.server.requests.length]).toEqual([1, 3]);
  });

  it.each([
    ["the server's figure", 200, { usage: { prompt_tokens: 7, total_tokens: 7 } }, [7]],
    ["an estimate for a server that reports none", 200, {}, [3]],
    ["an estimate for a figure that is not a whole number", 200, { usage: { prompt_tokens: 1.5 } }, [3]],
    ["an estimate for a figure below 0", 200, { usage: { prompt_tokens: -7 } }, [3]],
    ["nothing for a request that was turned away", 401, {}, []],
  ])("counts %s", async (_title, status, more, expected) => {
    const counts: number[] = [];
    const body = { ...(list([[1, 0]]) as { body: object }).body, ...more };
    const { embedder } = await start({ embeddings: () => ({ status, body }) });
    await embedder.embed(["123456789"], live, (tokens) => void counts.push(tokens)).catch(() => undefined);
    expect(counts).toEqual(expected);
  });
});
