/**
 * trust.ts -- the folders that a person has trusted as homes, in their own configuration.
 *
 * `trusted.json` lies outside every home, so that no home can trust itself. Real paths only: a link
 * that is turned elsewhere later is another folder. A record that others can write, or that cannot be
 * read, trusts nothing: the person is asked again.
 */
import { readFile, stat } from "node:fs/promises";
import { dirname } from "node:path";
import { GoaldError, toError } from "#core/errors.ts";
import { makeFolders } from "./make-folders.ts";
import { replacePrivateFile } from "./replace-private-file.ts";

interface TrustRecord {
  readonly trusted: readonly string[];
}

export async function isTrusted(record: string, folder: string, uid: number | undefined): Promise<boolean> {
  return (await readRecord(record, uid)).trusted.includes(folder);
}

/** Throws GOALD_HOME_UNTRUSTED when the record cannot be written. */
export async function recordTrust(record: string, folder: string, uid: number | undefined): Promise<void> {
  const { trusted } = await readRecord(record, uid);
  if (trusted.includes(folder)) return;
  const text = `${JSON.stringify({ trusted: [...trusted, folder] }, null, 2)}\n`;
  try {
    await makeFolders(dirname(record), 0o700);
    await replacePrivateFile(record, text);
  } catch (thrown) {
    throw new GoaldError(
      "GOALD_HOME_UNTRUSTED",
      `Your trust in ${folder} could not be recorded in ${record}: ${toError(thrown).message}.`,
      { hint: `Make that file writable, or name the home: --home ${JSON.stringify(folder)}.`, cause: thrown },
    );
  }
}

async function readRecord(record: string, uid: number | undefined): Promise<TrustRecord> {
  const nothing: TrustRecord = { trusted: [] };
  try {
    const { uid: owner, mode } = await stat(record);
    if (uid !== undefined && (owner !== uid || (mode & 0o022) !== 0)) return nothing;
    const value: unknown = JSON.parse(await readFile(record, "utf8"));
    if (typeof value !== "object" || value === null || !("trusted" in value) || !Array.isArray(value.trusted))
      return nothing;
    return { trusted: value.trusted.filter((folder) => typeof folder === "string") };
  } catch {
    return nothing;
  }
}
