/**
 * python-snapshot.ts -- the start-up snapshot of Python: the memory of a process that has loaded Python and goald's own
 * modules.
 *
 * A process that starts from it is ready five times as fast. It is made at first use in a cage, kept in a folder of the
 * home, and made anew for another Node, another Pyodide or other modules.
 */
import { createHash, randomUUID } from "node:crypto";
import { createReadStream, statSync } from "node:fs";
import { mkdir, readdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { extname, join } from "node:path";
import type { Cage } from "#cage/cage.ts";
import { CagedProgram } from "#cage/conversation.ts";
import type { ProgramSight } from "#cage/node-program.ts";
import { MAX_FRAME_BYTES } from "./protocol.ts";
import { DIGEST_BYTES, findPyodide, pythonSources, withDigest } from "./python-files.ts";

const PROGRAM = new URL(`./make-snapshot${extname(import.meta.url)}`, import.meta.url);
const MAKING_MS = 60_000;
const MEMORY_MEGABYTES = 768;
const CPU_SECONDS = 60;
const PREFIX = "python-";
const PACKAGE_FILES = ["pyodide.mjs", "pyodide.asm.mjs", "pyodide.asm.wasm", "python_stdlib.zip"];

/** By path: each is made once at a time. */
const prepared = new Map<string, Promise<string | null>>();

/** Returns the path of the snapshot; null when it cannot be made: Python then starts without one. */
export async function prepareSnapshot(cage: Cage, cacheFolder: string): Promise<string | null> {
  const name = await snapshotName();
  const path = join(cacheFolder, name);
  const known = prepared.get(path);
  if (known) return known;
  const made = findOrMake(cage, cacheFolder, name)
    .catch(() => null)
    // The file may be removed later, and a failure may pass.
    .finally(() => prepared.delete(path));
  prepared.set(path, made);
  return made;
}

async function findOrMake(cage: Cage, folder: string, name: string): Promise<string> {
  const path = join(folder, name);
  if (await isWhole(path)) return path;
  await mkdir(folder, { recursive: true });
  const snapshot = await makeSnapshot(cage);
  const draft = join(folder, `.${name}-${randomUUID()}`);
  try {
    await writeFile(draft, withDigest(snapshot), { mode: 0o600 });
    await rename(draft, path);
  } finally {
    await rm(draft, { force: true });
  }
  // Also the drafts of killed processes.
  for (const other of await readdir(folder))
    if (other.includes(PREFIX) && other !== name) await rm(join(folder, other), { force: true });
  return path;
}

/** Names all that a snapshot depends on. */
async function snapshotName(): Promise<string> {
  const folder = findPyodide();
  const hash = createHash("sha256");
  hash.update(await readFile(join(folder, "package.json")));
  for (const name of PACKAGE_FILES) hash.update(`${name} ${statSync(join(folder, name)).size}\n`);
  for (const [name, source] of pythonSources()) hash.update(`${name} ${source.length}\n${source}`);
  const [major] = process.versions.node.split(".");
  return `${PREFIX}node${major}-${process.arch}-${hash.digest("hex").slice(0, 16)}.snapshot`;
}

/** In pieces, because a snapshot has 30 MB and the host has other work. */
async function isWhole(path: string): Promise<boolean> {
  const size = statSync(path, { throwIfNoEntry: false })?.size ?? 0;
  if (size <= DIGEST_BYTES) return false;
  const end = size - DIGEST_BYTES;
  const hash = createHash("sha256");
  for await (const piece of createReadStream(path, { end: end - 1 })) hash.update(piece as Buffer);
  return hash.digest().equals(Buffer.concat(await Array.fromAsync(createReadStream(path, { start: end }))));
}

async function makeSnapshot(cage: Cage): Promise<Uint8Array> {
  const parts = { program: PROGRAM, memoryMegabytes: MEMORY_MEGABYTES, cpuSeconds: CPU_SECONDS, sees: GUEST_SIGHT };
  const frames = { maxBytes: MAX_FRAME_BYTES, maxJsonBytes: () => MAX_FRAME_BYTES };
  const maker = new CagedProgram(cage, parts, frames, { speaksFirst: true });
  const limit = setTimeout(() => maker.kill(), MAKING_MS);
  try {
    const made = await maker.conversation.next();
    if (!made) throw new Error("Its maker has ended.");
    return made.bytes;
  } finally {
    clearTimeout(limit);
    maker.kill();
    await maker.ended;
  }
}

/** A cell process sees these parts of goald and of the installed packages. */
export const GUEST_SIGHT: ProgramSight = {
  sources: ["sandbox", "cage/close-network", "cage/frames", "core/text"],
  packages: ["pyodide"],
};
