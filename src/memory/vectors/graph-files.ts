/**
 * graph-files.ts -- a graph on disk: a cache that is used only if everything about it is right.
 *
 * A generation has three files: `<n>.graph` of the library, `<n>.keys` with the centre and a digest per label, and the manifest
 * `<n>.json`, written last. Each is written to a temporary file, synced and renamed. The graph is read again before
 * that, because the library ignores a full disk. The previous generation is kept, older ones are deleted. A damaged
 * file is deleted and rebuilt from the rows: no file is the only copy of anything.
 */
import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import { mkdir, open, readdir, readFile, rename, rm, stat } from "node:fs/promises";
import { createRequire } from "node:module";
import { join } from "node:path";
import { GoaldError, toError } from "#core/errors.ts";
import { CONSTRUCTION_EF, Graph, KEY_BYTES, LINKS, type Library, SPACE } from "./graph.ts";
import type { GraphScope } from "./graph-messages.ts";

const FORMAT = 2;
const MAX_GENERATIONS = 2;
const MAX_MANIFEST_BYTES = 10_000;
const FILE_NAME = /^(\d{1,15})\.(graph|keys|json)$/;

type SavedScope = GraphScope & { readonly folder: string };

interface FileChecksum {
  readonly bytes: number;
  readonly sha256: string;
}
interface GraphManifest {
  readonly count: number;
  readonly graph: FileChecksum;
  readonly keys: FileChecksum;
}

/** Reads the newest sound generation. `problem` is the reason for which a newer one was deleted. */
export async function readGraph(
  library: Library,
  scope: SavedScope,
): Promise<{ readonly graph: Graph | undefined; readonly problem?: string }> {
  const problems: string[] = [];
  for (const generation of await generationsIn(scope.folder)) {
    try {
      const graph = await readGeneration(library, scope, generation);
      await removeExcept(scope.folder, new Set([generation]), problems.length > 0);
      return { graph, ...firstProblem(problems) };
    } catch (error) {
      problems.push(toError(error).message);
    }
  }
  await removeExcept(scope.folder, new Set(), true);
  return { graph: undefined, ...firstProblem(problems) };
}

const firstProblem = ([problem]: readonly string[]) => (problem === undefined ? {} : { problem });

/** Rejects when the graph cannot be saved; the previous generation remains. */
export async function saveGraph(library: Library, scope: SavedScope, graph: Graph): Promise<void> {
  const { folder } = scope;
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const generation = ((await generationsIn(folder))[0] ?? 0) + 1;
  const temporary = (kind: string) => join(folder, `${generation}.${kind}.tmp`);
  try {
    graph.native.writeIndexSync(temporary("graph"));
    await checkWritten(library, temporary("graph"), graph);
    await writeDurably(temporary("keys"), Buffer.concat([bytesOf(graph.centre), graph.keys]));
    const manifest = {
      ...identityOf(scope),
      count: graph.keys.length / KEY_BYTES,
      graph: await checksumOf(temporary("graph")),
      keys: await checksumOf(temporary("keys")),
    };
    await renameDurably(folder, generation, "graph");
    await renameDurably(folder, generation, "keys");
    await writeDurably(temporary("json"), Buffer.from(`${JSON.stringify(manifest, null, 2)}\n`));
    await renameDurably(folder, generation, "json");
  } catch (error) {
    for (const kind of ["graph", "keys", "json"]) await rm(temporary(kind), { force: true });
    throw error;
  }
  await removeExcept(folder, new Set([generation, generation - MAX_GENERATIONS + 1]), true);
}

export async function discardGraph(folder: string): Promise<void> {
  await removeExcept(folder, new Set(), true);
}

/** Everything that must be equal for a saved graph to be used. */
const identityOf = ({ namespace, embedder, dimensions }: GraphScope) => ({
  format: FORMAT,
  namespace,
  embedder,
  dimensions,
  space: SPACE,
  links: LINKS,
  constructionReach: CONSTRUCTION_EF,
  library: `hnswlib-node ${(createRequire(import.meta.url)("hnswlib-node/package.json") as { version: string }).version}`,
});

async function readGeneration(library: Library, scope: SavedScope, generation: number): Promise<Graph> {
  const path = (kind: string) => join(scope.folder, `${generation}.${kind}`);
  await requireFile(path("json"), (bytes) => bytes <= MAX_MANIFEST_BYTES);
  const { count, graph, keys, ...identity } = JSON.parse(await readFile(path("json"), "utf8")) as GraphManifest &
    object;
  if (JSON.stringify(identity) !== JSON.stringify(identityOf(scope)))
    throw unusable(path("json"), "the file of another index");
  const centreBytes = scope.dimensions * Float32Array.BYTES_PER_ELEMENT;
  if (keys.bytes !== centreBytes + count * KEY_BYTES || count < 1) throw unusable(path("json"), "inconsistent");
  for (const [kind, expected] of [["graph", graph] as const, ["keys", keys] as const]) {
    await requireFile(path(kind), (bytes) => bytes === expected.bytes);
    if ((await checksumOf(path(kind))).sha256 !== expected.sha256) throw unusable(path(kind), "damaged");
  }
  const native = loadNative(library, path("graph"), scope.dimensions);
  if (native.getCurrentCount() !== count) throw unusable(path("graph"), `not of ${count} vectors`);
  const found = Uint8Array.from(await readFile(path("keys")));
  const centre = new Float32Array(found.buffer, 0, scope.dimensions);
  return new Graph(library, centre, { graph: native, keys: found.subarray(centreBytes) });
}

const bytesOf = ({ buffer, byteOffset, byteLength }: Float32Array): Uint8Array =>
  new Uint8Array(buffer, byteOffset, byteLength);

/** Checks type and size before reading: a device or a pipe has no end. */
async function requireFile(path: string, isRight: (bytes: number) => boolean): Promise<void> {
  const found = await stat(path);
  if (!found.isFile() || !isRight(found.size)) throw unusable(path, "of the wrong size");
}

function loadNative(library: Library, path: string, dimensions: number) {
  const native = new library.HierarchicalNSW(SPACE, dimensions);
  native.readIndexSync(path);
  return native;
}

/** Detects failed writes, which the library hides, and syncs the file. */
async function checkWritten(library: Library, path: string, graph: Graph): Promise<void> {
  const count = graph.native.getCurrentCount();
  const { size } = await stat(path);
  // The file holds each vector completely.
  if (size < count * graph.dimensions * Float32Array.BYTES_PER_ELEMENT) throw unusable(path, "truncated");
  if (loadNative(library, path, graph.dimensions).getCurrentCount() !== count)
    throw unusable(path, `not of ${count} vectors`);
  const handle = await open(path, "r");
  await handle.sync().finally(() => handle.close());
}

async function writeDurably(path: string, bytes: Uint8Array): Promise<void> {
  const handle = await open(path, "w", 0o600);
  try {
    await handle.writeFile(bytes);
    await handle.sync();
  } finally {
    await handle.close();
  }
}

async function renameDurably(folder: string, generation: number, kind: string): Promise<void> {
  await rename(join(folder, `${generation}.${kind}.tmp`), join(folder, `${generation}.${kind}`));
  const handle = await open(folder, "r");
  await handle.sync().finally(() => handle.close());
}

async function checksumOf(path: string): Promise<FileChecksum> {
  const sum = createHash("sha256");
  let bytes = 0;
  for await (const chunk of createReadStream(path, { highWaterMark: 1 << 20 })) {
    sum.update(chunk as Uint8Array);
    bytes += (chunk as Uint8Array).length;
  }
  return { bytes, sha256: sum.digest("hex") };
}

/** Returns the generations with a manifest, newest first. */
async function generationsIn(folder: string): Promise<number[]> {
  const manifests = (await namesIn(folder)).flatMap((name) => {
    const [, generation, kind] = FILE_NAME.exec(name) ?? [];
    return kind === "json" ? [Number(generation)] : [];
  });
  return manifests.sort((a, b) => b - a);
}

/** Deletes temporary files of crashed writers, and with `removesGenerations` the generations that are not in `kept`. */
async function removeExcept(folder: string, kept: ReadonlySet<number>, removesGenerations: boolean): Promise<void> {
  for (const name of await namesIn(folder)) {
    const [, generation] = FILE_NAME.exec(name) ?? [];
    const isKept =
      generation === undefined ? !name.endsWith(".tmp") : !removesGenerations || kept.has(Number(generation));
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

const unusable = (path: string, what: string): GoaldError =>
  new GoaldError("GOALD_INTERNAL", `The index file ${path} is ${what}.`, { hint: "It is rebuilt from the rows." });
