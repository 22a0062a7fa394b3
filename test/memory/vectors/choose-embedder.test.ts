import { describe, expect, it } from "@jest/globals";
import { fallbackEmbedder, isPermanent } from "#memory/vectors/choose-embedder.ts";
import { embedderContract } from "../../contracts/embedder.ts";
import { fixedEmbedder } from "../../helpers/fixed-embedder.ts";

const live = new AbortController().signal;
const refusal = (status: number) => Object.assign(new Error(`HTTP ${status}`), { status });
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
    primary.instead = failing(refusal(404));
    await expect(embedder.embed(["b"], live)).rejects.toThrow("HTTP 404");
    expect(embedder).toMatchObject({ id: "server@8", dimensions: 8, local: false });
    expect([local.requests, reasons]).toEqual([[], []]);
  });

  it.each<[title: string, error: unknown]>([
    ["has no such path", refusal(404)],
    ["refuses the request", refusal(400)],
    ["does not support it", refusal(501)],
    ["refuses the key", refusal(401)],
    ["has no key", Object.assign(new Error("no key"), { code: "GOALD_KEY_MISSING" })],
    [
      "refuses connections",
      Object.assign(new TypeError("fetch failed"), { cause: Object.assign(new Error("x"), { code: "ECONNREFUSED" }) }),
    ],
    ["is unreachable by the client's error", Object.assign(new Error("x"), { name: "APIConnectionError" })],
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
    ["is busy", refusal(429)],
    ["has an internal error", refusal(500)],
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

  it("decides nothing on a person's abort, and treats a timeout as no server", async () => {
    const stopped = make();
    stopped.primary.instead = failing(refusal(404));
    await expect(stopped.embedder.embed(["a"], AbortSignal.abort())).rejects.toThrow("HTTP 404");
    expect(stopped.embedder.local).toBe(false);

    const silent = make();
    silent.primary.instead = (_texts, signal) =>
      new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
    expect(await silent.embedder.embed(["a"], AbortSignal.timeout(5))).toHaveLength(1);
    expect(silent.embedder.local).toBe(true);
  });

  it("answers concurrent first calls with vectors of one embedder", async () => {
    const { embedder, primary, reasons } = make();
    primary.instead = failing(refusal(404));
    const answers = await Promise.all(["a", "b", "c"].map((text) => embedder.embed([text], live)));
    expect(answers.map(([vector]) => vector?.length)).toEqual([16, 16, 16]);
    expect([primary.requests.length, reasons.length]).toEqual([1, 1]);
  });

  it("ends on a cycle of causes", () => {
    const error: Error & { cause?: unknown } = new Error("round");
    error.cause = error;
    expect(isPermanent(error)).toBe(false);
  });
});
