import { describe, expect, it } from "@jest/globals";
import { cachedEmbedder } from "#memory/vectors/cached-embedder.ts";
import { embedderContract } from "../../contracts/embedder.ts";
import { fixedEmbedder } from "../../helpers/fixed-embedder.ts";

const live = new AbortController().signal;

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
    const turning = {
      ...embedder,
      get id() {
        return id;
      },
    };
    const cached = cachedEmbedder(turning);
    await cached.embed(["a"], live);
    id = "two@64";
    await cached.embed(["a"], live);
    expect([cached.id, embedder.requests.length]).toEqual(["two@64", 2]);
  });
});
