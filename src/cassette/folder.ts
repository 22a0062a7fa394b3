/** folder.ts -- reads an agent's folder for a recording, finds changes by others, and restores recorded files. */
import { type ErrorCode, GoaldError } from "#core/errors.ts";
import { isOfVersionControl } from "#core/guarded-files.ts";
import type { FileStat, Workspace } from "#core/ports/workspace.ts";
import type { Outcome } from "#loop/journal.ts";
import { sha256 } from "#store/chain.ts";
import { parseJson } from "#util/json.ts";
import { decodeUtf8 } from "#util/media-format.ts";
import { listCauses } from "#util/outside-errors.ts";
import type { Redact } from "#util/redact.ts";
import type { Body, ErrorChain, FileLine, OutcomeLine } from "./format.ts";

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

/**
 * Encodes the content of a file without its secrets. Prefers JSON, then text, for readability. Bytes that are not UTF-8
 * become base64, redacted as Latin-1 text.
 */
export function encodeBody(bytes: Uint8Array, redact: Redact): Body {
  const decoded = decodeUtf8(bytes);
  if (decoded === undefined)
    return { base64: Buffer.from(redact(Buffer.from(bytes).toString("latin1")), "latin1").toString("base64") };
  const text = redact(decoded);
  const json = /^[[{"]/.test(text) ? parseJson(text) : undefined;
  return json !== undefined && JSON.stringify(json) === text ? { json } : { text };
}

export function decodeBody(body: Body): Uint8Array {
  if ("json" in body) return Buffer.from(JSON.stringify(body.json));
  return "text" in body ? Buffer.from(body.text) : Buffer.from(body.base64, "base64");
}

/** Encodes an error and its causes without their secrets. */
export const encodeError = (thrown: unknown, redact: Redact): ErrorChain =>
  listCauses(thrown).map(({ name, message, code, hint }) => ({
    name,
    message: redact(message),
    ...(typeof code === "string" ? { code } : {}),
    ...(typeof hint === "string" && hint !== "" ? { hint: redact(hint) } : {}),
  }));

/** Restores an error's name, message, code and causes, so that error handling treats it like the original. */
export function decodeError([first, ...causes]: ErrorChain): Error {
  const cause = causes.length > 0 ? { cause: decodeError(causes) } : {};
  const { name, message, code, hint } = first ?? { name: "Error", message: "unknown" };
  if (name === "GoaldError") return new GoaldError(code as ErrorCode, message, { ...(hint ? { hint } : {}), ...cause });
  const error = new Error(message, cause);
  Object.defineProperty(error, "name", { value: name, configurable: true });
  if (code !== undefined) Object.defineProperty(error, "code", { value: code, enumerable: true });
  return error;
}

export function outcomeOf({ changes, events, staged }: OutcomeLine): Outcome {
  const files = changes.map(({ content: body, ...change }) => {
    const content = body && decodeBody(body);
    return { ...change, content, sha256: content && sha256(content) };
  });
  return { events: events as Outcome["events"], staged: staged as NonNullable<Outcome["staged"]>, files };
}
