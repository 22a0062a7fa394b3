/** file-content.ts -- the content of one file: from the folder as it is now, or from the history as it was after a step. */
import { GoaldError } from "#core/errors.ts";
import type { FileVersion, StoreReader } from "#core/ports/store.ts";
import type { Workspace } from "#core/ports/workspace.ts";
import { count, described, nullable, oneOf, open, type Static, text } from "#util/schema.ts";
import { restoreVersion, upToStep } from "./restore-version.ts";

export const FileContent = open({
  agent: text,
  path: text,
  step: described(nullable(count), "The step after which it had this content; null for the content now."),
  bytes: count,
  encoding: described(oneOf("utf8", "base64"), "`base64` for content that is not text."),
  content: text,
});
export type FileContent = Static<typeof FileContent>;

const MAX_BYTES = 8 * 1024 * 1024;

/** `step`: null for the file in the folder. Throws GOALD_NOT_FOUND and GOALD_FILE_TOO_LARGE. */
export async function loadFileContent(
  file: { readonly agent: string; readonly path: string; readonly step: number | null },
  versions: readonly FileVersion[],
  store: Pick<StoreReader, "blob">,
  workspace: Pick<Workspace, "stat" | "read">,
): Promise<FileContent> {
  const { agent, path, step } = file;
  const content = step === null ? await readNow(path, workspace) : await readAfter(path, step, versions, store);
  if (content === null) throw notThere(file);
  if (content.length > MAX_BYTES) throw tooLarge(path, content.length);
  const decoded = decodeText(content);
  const encoded = decoded === undefined ? Buffer.from(content).toString("base64") : decoded;
  const encoding = decoded === undefined ? "base64" : "utf8";
  return { agent, path, step, bytes: content.length, encoding, content: encoded };
}

async function readNow(path: string, workspace: Pick<Workspace, "stat" | "read">): Promise<Uint8Array | null> {
  const found = await workspace.stat(path);
  if (!found) return null;
  if (found.bytes > MAX_BYTES) throw tooLarge(path, found.bytes);
  return workspace.read(path);
}

function readAfter(
  path: string,
  step: number,
  versions: readonly FileVersion[],
  store: Pick<StoreReader, "blob">,
): Promise<Uint8Array | null> {
  const own = versions.filter((version) => version.path === path);
  return restoreVersion(upToStep(own, step), store);
}

function decodeText(content: Uint8Array): string | undefined {
  if (content.includes(0)) return undefined;
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(content);
  } catch {
    return undefined;
  }
}

const notThere = ({ agent, path, step }: { agent: string; path: string; step: number | null }): GoaldError =>
  new GoaldError(
    "GOALD_NOT_FOUND",
    `Expected a file of ${agent}, got ${JSON.stringify(path)}, which does not exist ${step === null ? "now" : `after step ${step}`}.`,
    { hint: `See its files: goald show ${agent} --files` },
  );

const tooLarge = (path: string, bytes: number): GoaldError =>
  new GoaldError("GOALD_FILE_TOO_LARGE", `Expected a file of at most ${MAX_BYTES} bytes, got ${path} with ${bytes}.`);
