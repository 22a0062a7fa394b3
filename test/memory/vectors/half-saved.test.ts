/** A kill may happen between any two of a graph's files; the incomplete generation is never used. */
import { cpSync, mkdirSync, mkdtempSync, rmSync, watch } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, expect, it } from "@jest/globals";
import { GraphChild } from "#memory/vectors/graph-child.ts";
import { clusteredVectors } from "../../helpers/random-vectors.ts";

const DIMENSIONS = 8;
const root = mkdtempSync(join(tmpdir(), "goald-half-"));
afterAll(() => rmSync(root, { recursive: true }));
const scope = { namespace: "foo", embedder: `test@${DIMENSIONS}`, dimensions: DIMENSIONS };
const centre = new Float32Array(DIMENSIONS);
const vectors = clusteredVectors(60, DIMENSIONS, 3).map((vector) => vector.map((x) => x / Math.hypot(...vector)));

async function add(child: GraphChild, from: number, to: number): Promise<void> {
  const lot = vectors.slice(from, to);
  const added = Uint32Array.from(lot, (_, at) => from + at);
  const all = Float32Array.from(lot.flatMap((vector) => [...vector]));
  await child.request("change", { removed: new Uint32Array(0), added, vectors: all });
}

/** Names of the files of generation 2 in the order of their creation. */
async function namesAsTheyCame(folder: string, work: () => Promise<unknown>): Promise<readonly string[]> {
  const came = new Set<string>();
  const watching = watch(folder, (_, name) => {
    if (name?.startsWith("2.") && !name.endsWith(".tmp")) came.add(name);
  });
  await work();
  while (came.size < 3) await sleep(5);
  watching.close();
  return [...came];
}

it("reads the previous generation, however many of the new files exist", async () => {
  const home = join(root, "home");
  const child = new GraphChild(() => undefined);
  await child.request("open", { ...scope, folder: home, from: "saved", centre });
  await add(child, 0, 40);
  await child.request("save", null);
  await add(child, 40, 60);
  const names = await namesAsTheyCame(home, () => child.request("save", null));
  expect([...names].sort()).toEqual(["2.graph", "2.json", "2.keys"]);
  for (let come = 0; come <= names.length; come++) {
    const folder = join(root, `${come}`);
    mkdirSync(folder);
    for (const name of ["1.graph", "1.keys", "1.json", ...names.slice(0, come)])
      cpSync(join(home, name), join(folder, name));
    for (const name of names.slice(come)) cpSync(join(home, name), join(folder, `${name}.tmp`));
    const found = await child.request("open", { ...scope, folder, from: "saved", centre });
    expect({ come, ...found }).toEqual({ come, found: come < names.length ? 40 : 60 });
  }
  await child.stop();
});
