/** folder.ts -- reads an agent's folder for a recording, finds changes by others, and restores recorded files. */

import { GoaldError } from "#core/errors.ts";
import { isOfVersionControl } from "#core/guarded-files.ts";
import type { FileStat, Workspace } from "#core/ports/workspace.ts";
import { sha256 } from "#store/chain.ts";
import type { Redact } from "#util/redact.ts";
import { decodeBody, encodeBody } from "./body.ts";
import type { FileLine } from "./format.ts";

export type Folder = Pick<Workspace, "list" | "read" | "write" | "remove">;

/** Not recorded: each run rewrites this report at its end, with the current time. */
const REPORT = "_goald/report.md";
/** Larger files cannot be recorded, since people read recordings. */
const MAX_FILE_BYTES = 4 * 1024 * 1024;

/** File sizes and modification times by path. */
export type Seen = ReadonlyMap<string, FileStat>;

export async function look(folder: Folder): Promise<Seen> {
  const seen = new Map<string, FileStat>();
  // A recording leaves out the files of version control, because a replay may not write them.
  for await (const file of folder.list(""))
    if (file.path !== REPORT && !isOfVersionControl(file.path)) seen.set(file.path, file);
  return seen;
}

/** Returns files that are new, changed or removed since `before`. */
export async function changesSince(before: Seen, now: Seen, folder: Folder, redact: Redact): Promise<FileLine[]> {
  const changes: FileLine[] = [];
  for (const file of now.values()) {
    const earlier = before.get(file.path);
    if (earlier?.bytes === file.bytes && earlier.modifiedAt === file.modifiedAt) continue;
    changes.push(await readFile(file, folder, redact));
  }
  for (const path of before.keys()) if (!now.has(path)) changes.push({ path, gone: true });
  return changes;
}

async function readFile({ path, bytes }: FileStat, folder: Folder, redact: Redact): Promise<FileLine> {
  if (bytes > MAX_FILE_BYTES)
    throw new GoaldError(
      "GOALD_FILE_TOO_LARGE",
      `Expected files of at most ${MAX_FILE_BYTES} bytes in a folder that is recorded, found ${path} with ${bytes}.`,
      { hint: "Take it out of the agent's folder, or go on without --record." },
    );
  const body = encodeBody(await folder.read(path), redact);
  return { path, sha256: sha256(decodeBody(body)), ...body };
}

/** Writes and removes files in the folder as listed. */
export async function apply(changes: readonly FileLine[], folder: Folder): Promise<void> {
  for (const file of changes)
    if ("gone" in file) await folder.remove(file.path);
    else await folder.write(file.path, decodeBody(file));
}

/** Makes the folder contain exactly these files. */
export async function replaceAll(files: readonly FileLine[], folder: Folder): Promise<void> {
  const wanted = new Set(files.map(({ path }) => path));
  for (const path of (await look(folder)).keys()) if (!wanted.has(path)) await folder.remove(path);
  await apply(files, folder);
}

/** Returns the hash of each file as a recording would contain it, by path. */
export async function hashAll(folder: Folder, redact: Redact): Promise<Record<string, string>> {
  const hashes: Record<string, string> = {};
  for (const { path } of (await look(folder)).values())
    hashes[path] = sha256(decodeBody(encodeBody(await folder.read(path), redact)));
  return hashes;
}
