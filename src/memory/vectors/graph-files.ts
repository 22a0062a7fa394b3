/**
 * graph-files.ts -- a graph on disk: a cache that is believed only when everything about it is right.
 *
 * A generation is three files: `<n>.graph` of the library, `<n>.keys` with a digest for each label, and `<n>.json`, the
 * manifest, which is written last. Each is written to a temporary file, made durable and renamed; the graph is read
 * again before that, because the library says nothing when a disk is full. The generation before is kept,
 * older ones go. Whatever is odd is deleted, and the rows make it anew: nothing here is the only copy of anything.
 */
import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import { mkdir, open, readdir, readFile, rename, rm, stat } from "node:fs/promises";
import { createRequire } from "node:module";
import { join } from "node:path";
import { GoaldError, toError } from "#core/errors.ts";
import { CONSTRUCTION_REACH, Graph, KEY_BYTES, LINKS, type Library, SPACE } from "./graph.ts";
import type { GraphScope } from "./graph-messages.ts";

const FORMAT = 1;
const GENERATIONS_KEPT = 2;
const MAX_MANIFEST_BYTES = 10_000;
const NAME = /^(\d{1,15})\.(graph|keys|json)$/;

type Kept = GraphScope & { readonly folder: string };

interface FileSum {
  readonly bytes: number;
  readonly sha256: string;
}
interface Manifest {
  readonly count: number;
  readonly graph: FileSum;
  readonly keys: FileSum;
}

/** The newest generation that is sound; `problem` says what was deleted on the way. */
export async function readGraph(
  library: Library,
  scope: Kept,
): Promise<{ readonly graph: Graph | undefined; readonly problem?: string }> {
  const problems: string[] = [];
  for (const generation of await generationsIn(scope.folder)) {
    try {
      const graph = await readGeneration(library, scope, generation);
      await removeExcept(scope.folder, new Set([generation]), problems.length > 0);
      return { graph, ...saidOf(problems) };
    } catch (error) {
      problems.push(toError(error).message);
    }
  }
  await removeExcept(scope.folder, new Set(), true);
  return { graph: undefined, ...saidOf(problems) };
}

const saidOf = ([problem]: readonly string[]) => (problem === undefined ? {} : { problem });

/** Rejects when it could not be kept; what was kept before is still there then. */
export async function keepGraph(library: Library, scope: Kept, graph: Graph): Promise<void> {
  const { folder } = scope;
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const generation = ((await generationsIn(folder))[0] ?? 0) + 1;
  const temporary = (kind: string) => join(folder, `${generation}.${kind}.tmp`);
  try {
    graph.native.writeIndexSync(temporary("graph"));
    await checkWritten(library, temporary("graph"), graph);
    await write(temporary("keys"), graph.keys);
    const manifest = {
      ...identityOf(scope),
      count: graph.keys.length / KEY_BYTES,
      graph: await sumOf(temporary("graph")),
      keys: await sumOf(temporary("keys")),
    };
    await settle(folder, generation, "graph");
    await settle(folder, generation, "keys");
    await write(temporary("json"), Buffer.from(`${JSON.stringify(manifest, null, 2)}\n`));
    await settle(folder, generation, "json");
  } catch (error) {
    for (const kind of ["graph", "keys", "json"]) await rm(temporary(kind), { force: true });
    throw error;
  }
  await removeExcept(folder, new Set([generation, generation - GENERATIONS_KEPT + 1]), true);
}

export async function discardGraph(folder: string): Promise<void> {
  await removeExcept(folder, new Set(), true);
}

/** All that must be the same for vectors to mean the same; compared as a whole. */
const identityOf = ({ namespace, embedder, dimensions }: GraphScope) => ({
  format: FORMAT,
  namespace,
  embedder,
  dimensions,
  space: SPACE,
  links: LINKS,
  constructionReach: CONSTRUCTION_REACH,
  library: `hnswlib-node ${(createRequire(import.meta.url)("hnswlib-node/package.json") as { version: string }).version}`,
});

async function readGeneration(library: Library, scope: Kept, generation: number): Promise<Graph> {
  const path = (kind: string) => join(scope.folder, `${generation}.${kind}`);
  await requireFile(path("json"), (bytes) => bytes <= MAX_MANIFEST_BYTES);
  const { count, graph, keys, ...identity } = JSON.parse(await readFile(path("json"), "utf8")) as Manifest & object;
  if (JSON.stringify(identity) !== JSON.stringify(identityOf(scope))) throw odd(path("json"), "of another index");
  if (keys.bytes !== count * KEY_BYTES || count < 1) throw odd(path("json"), "at odds with itself");
  for (const [kind, said] of [["graph", graph] as const, ["keys", keys] as const]) {
    await requireFile(path(kind), (bytes) => bytes === said.bytes);
    if ((await sumOf(path(kind))).sha256 !== said.sha256) throw odd(path(kind), "damaged");
  }
  const native = load(library, path("graph"), scope.dimensions);
  if (native.getCurrentCount() !== count) throw odd(path("graph"), `not of ${count} vectors`);
  return new Graph(library, scope.dimensions, { graph: native, keys: await readFile(path("keys")) });
}

/** Before anything is read: a device or a pipe has no end. */
async function requireFile(path: string, isRight: (bytes: number) => boolean): Promise<void> {
  const found = await stat(path);
  if (!found.isFile() || !isRight(found.size)) throw odd(path, "not of the right size");
}

function load(library: Library, path: string, dimensions: number) {
  const native = new library.HierarchicalNSW(SPACE, dimensions);
  native.readIndexSync(path);
  return native;
}

/** The library hides failed writes; a file that ends too early is refused when it is read. */
async function checkWritten(library: Library, path: string, graph: Graph): Promise<void> {
  const count = graph.native.getCurrentCount();
  const { size } = await stat(path);
  // Each vector lies in the file whole.
  if (size < count * graph.dimensions * Float32Array.BYTES_PER_ELEMENT) throw odd(path, "cut off");
  if (load(library, path, graph.dimensions).getCurrentCount() !== count) throw odd(path, `not of ${count} vectors`);
  const handle = await open(path, "r");
  await handle.sync().finally(() => handle.close());
}

async function write(path: string, bytes: Uint8Array): Promise<void> {
  const handle = await open(path, "w", 0o600);
  try {
    await handle.writeFile(bytes);
    await handle.sync();
  } finally {
    await handle.close();
  }
}

async function settle(folder: string, generation: number, kind: string): Promise<void> {
  await rename(join(folder, `${generation}.${kind}.tmp`), join(folder, `${generation}.${kind}`));
  const handle = await open(folder, "r");
  await handle.sync().finally(() => handle.close());
}

async function sumOf(path: string): Promise<FileSum> {
  const sum = createHash("sha256");
  let bytes = 0;
  for await (const chunk of createReadStream(path, { highWaterMark: 1 << 20 })) {
    sum.update(chunk as Uint8Array);
    bytes += (chunk as Uint8Array).length;
  }
  return { bytes, sha256: sum.digest("hex") };
}

/** Newest first. */
async function generationsIn(folder: string): Promise<number[]> {
  const manifests = (await namesIn(folder)).flatMap((name) => {
    const [, generation, kind] = NAME.exec(name) ?? [];
    return kind === "json" ? [Number(generation)] : [];
  });
  return manifests.sort((a, b) => b - a);
}

/** Temporary files of a writer that died always go; whole generations only when `generations` is set. */
async function removeExcept(folder: string, kept: ReadonlySet<number>, generations: boolean): Promise<void> {
  for (const name of await namesIn(folder)) {
    const [, generation] = NAME.exec(name) ?? [];
    const isKept = generation === undefined ? !name.endsWith(".tmp") : !generations || kept.has(Number(generation));
    if (!isKept) await rm(join(folder, name), { recursive: true, force: true });
  }
}

async function namesIn(folder: string): Promise<string[]> {
  try {
    return await readdir(folder);
  } catch (error) {
    if ((error as { code?: unknown }).code === "ENOENT") return [];
    throw error;
  }
}

const odd = (path: string, what: string): GoaldError =>
  new GoaldError("GOALD_INTERNAL", `The index file ${path} is ${what}.`, { hint: "It is made anew from the rows." });
