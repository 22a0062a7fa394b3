import { mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { readCassette } from "#cassette/recording-file.ts";
import { isGoaldError } from "#core/errors.ts";
import { type Ended, endedWith, type Goald, jsonOf, makeGoald } from "../helpers/goald.ts";
import { append, numberedModel } from "../helpers/models.ts";
import { startOpenAIServer } from "../helpers/openai-server.ts";

type Line = Record<string, unknown>;

let goald: Goald;
let recorded: readonly Line[];
beforeAll(async () => {
  await using server = await startOpenAIServer({ reply: numberedModel([append("one\n")]), embeddings: null });
  goald = await makeGoald({ OPENAI_BASE_URL: server.baseUrl, GOALD_MEMORY_EMBEDDER: "offline" });
  await mkdir(at("tmp"));
  await goald.write("workspace/t/given.txt", "given\n");
  const run = ["run", "--name", "T", "--role", "r", "--goal", "g", "--continuous", "--json", "--record", "good.ndjson"];
  endedWith(0, await goald.ask(run));
  recorded = (await readFile(at("good.ndjson"), "utf8"))
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line) as Line);
});
afterAll(async () => goald[Symbol.asyncDispose]());

const at = (name: string): string => join(goald.cwd, name);
const replay = (name: string): Promise<Ended> => goald.ask(["replay", name, "--json"], { env: { TMPDIR: at("tmp") } });

describe("a recording from a stranger", () => {
  it("ends with a sentence for any damage, and soon", async () => {
    const random = numbersFrom(7);
    const values = [null, -1, 1e9, 1e308, "", "x", [], {}, true, [null], { type: "x" }, "\u0000", "../x"];
    for (let round = 0; round < 400; round++) {
      const lines = structuredClone(recorded) as Line[];
      const line = lines[Math.floor(random() * lines.length)] as Line;
      mutate(line, values, random);
      await writeFile(at("mutant.ndjson"), `${lines.map((each) => JSON.stringify(each)).join("\n")}\n`);
      let isRead = false;
      try {
        readCassette(at("mutant.ndjson"));
        isRead = true;
      } catch (thrown) {
        expect({ line, thrown }).toEqual({ line, thrown: expect.anything() });
        expect(isGoaldError(thrown)).toBe(true);
      }
      if (!isRead || round % 8 > 0) continue;
      const ended = await replay("mutant.ndjson");
      expect({ line, ended: ended.stderr.includes("GOALD_INTERNAL") }).toEqual({ line, ended: false });
      expect(await readdir(at("tmp"))).toEqual([]);
    }
    expect(jsonOf(await goald.ask(["ps", "-a", "--json"]))).toMatchObject({ agents: [{ id: "t" }] });
  });
});

/** Replaces, removes or doubles one value somewhere in a line. */
function mutate(holder: Record<string, unknown>, values: readonly unknown[], random: () => number): void {
  const keys = Object.keys(holder);
  const key = keys[Math.floor(random() * keys.length)];
  if (key === undefined) return;
  const value = holder[key];
  if (typeof value === "object" && value !== null && random() < 0.7) {
    mutate(value as Record<string, unknown>, values, random);
    return;
  }
  if (random() < 0.2 && !Array.isArray(holder)) delete holder[key];
  else holder[key] = values[Math.floor(random() * values.length)];
}

/** mulberry32 */
function numbersFrom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}
