import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "@jest/globals";
import { createTransformersEmbedder } from "#memory/vectors/transformers-embedder.ts";
import { embedderContract } from "../../contracts/embedder.ts";

/** A fake of the used part of the package. It rejects options that would download a model. */
const FAKE = `
export const env = { allowRemoteModels: true, allowLocalModels: false, localModelPath: "" };
export async function pipeline(task, model, options) {
  if (env.allowRemoteModels || !env.allowLocalModels || !options.local_files_only) throw new Error("it would ask the network");
  if (task !== "feature-extraction") throw new Error("task " + task);
  const dims = JSON.parse((await import("node:fs")).readFileSync(env.localModelPath + "/" + model + "/config.json")).dims;
  return async (texts, { pooling, normalize }) => {
    if (pooling !== "mean" || normalize !== true) throw new Error("not what was asked for");
    if (texts.includes("odd")) return { dims: [1, dims], data: new Float32Array(dims) };
    const data = new Float32Array(texts.length * dims);
    for (const [row, text] of texts.entries()) {
      const own = data.subarray(row * dims, (row + 1) * dims);
      for (const word of text.split(/\\s+/)) {
        let at = 7;
        for (const letter of word) at = (at * 31 + letter.codePointAt(0)) % dims;
        own[at] += 1;
      }
      const norm = Math.hypot(...own);
      for (let at = 0; at < dims; at++) own[at] /= norm;
    }
    return { dims: [texts.length, dims], data };
  };
}`;

const root = mkdtempSync(join(tmpdir(), "goald-transformers-"));
afterAll(() => rmSync(root, { recursive: true, force: true }));
const live = new AbortController().signal;

function install(home: string, code = FAKE): string {
  const folder = join(root, home, "node_modules/@huggingface/transformers");
  mkdirSync(folder, { recursive: true });
  const manifest = { name: "@huggingface/transformers", version: "4.3.1", type: "module", exports: "./index.js" };
  writeFileSync(join(folder, "package.json"), JSON.stringify(manifest));
  writeFileSync(join(folder, "index.js"), code);
  return join(root, home);
}
function model(name: string, dims = 32): string {
  const path = join(root, "models", name);
  mkdirSync(path, { recursive: true });
  writeFileSync(join(path, "config.json"), JSON.stringify({ dims }));
  return path;
}
const home = install("home");
const bare = join(root, "bare");

embedderContract("the embedder of this machine", () =>
  createTransformersEmbedder({ path: model("minilm"), folders: [bare, home] }),
);

describe("the transformers embedder", () => {
  it("is local and semantic; its id holds the model, a digest of the files and the dimensions", async () => {
    const named = async (path: string) => {
      const embedder = createTransformersEmbedder({ path, folders: [home] });
      const [vector] = await embedder.embed(["x"], live);
      expect([embedder.local, embedder.semantic, vector?.length]).toEqual([true, true, embedder.dimensions]);
      return embedder.id;
    };
    const first = await named(model("e5"));
    expect(first).toMatch(/^transformers:e5#[0-9a-f]{8}@32$/);
    expect(await named(model("e5"))).toBe(first);
    writeFileSync(join(model("e5"), "tokenizer.json"), "{}");
    expect(await named(model("e5"))).not.toBe(first);
  });

  it.each<[title: string, path: string, folders: readonly string[], words: RegExp]>([
    ["the package is not installed", model("e5"), [bare], /needs the package @huggingface\/transformers/],
    [
      "the package has another interface",
      model("e5"),
      [install("wrong", "export default 7;")],
      /cannot be used: it exports no pipeline/,
    ],
    ["the package cannot be loaded", model("e5"), [install("broken", "throw new Error('no runtime');")], /no runtime/],
    [
      "the folder has no model",
      join(root, "models/none"),
      [home],
      /models\/none cannot be used: it has no config.json/,
    ],
    ["the model is broken", model("zero", "x" as unknown as number), [home], /cannot be used/],
  ])("names the setting or command that helps when %s", async (_title, path, folders, words) => {
    const refused = createTransformersEmbedder({ path, folders }).embed(["x"], live);
    await expect(refused).rejects.toMatchObject({ code: "GOALD_CONFIG", message: expect.stringMatching(words) });
    await expect(refused).rejects.toThrow(/npm install|GOALD_EMBEDDER_PATH/);
  });

  it("rejects an answer without one vector per text", async () => {
    const embedder = createTransformersEmbedder({ path: model("e5"), folders: [home] });
    await expect(embedder.embed(["odd", "x"], live)).rejects.toThrow("it returned 1 x 32 numbers for 2 texts");
    expect(await embedder.embed(["x"], live)).toHaveLength(1);
  });

  it("stops between batches when it is aborted", async () => {
    const embedder = createTransformersEmbedder({ path: model("e5"), folders: [home] });
    await expect(embedder.embed(["x"], AbortSignal.abort(new Error("enough")))).rejects.toThrow("enough");
  });
});
