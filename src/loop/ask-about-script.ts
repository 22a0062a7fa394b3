/** ask-about-script.ts -- adds to a question the content of the file whose code the call would run. */
import { createHash } from "node:crypto";
import { type AskedScript, scriptOf } from "#core/call.ts";
import { isGoaldError } from "#core/errors.ts";
import type { EventOf, NewEvent } from "#core/event.ts";
import type { Workspace } from "#core/ports/workspace.ts";
import { openCommand } from "#core/state.ts";
import type { Journal } from "./journal.ts";
import type { RunParts } from "./run-parts.ts";

export async function withScript(
  asked: EventOf<"approval-asked">,
  journal: Journal,
  { readScript }: Pick<RunParts, "readScript">,
): Promise<NewEvent> {
  const call = openCommand(journal.state, asked.callId)?.call;
  const file = call && scriptOf(call);
  return file === undefined || !readScript ? asked : { ...asked, script: { file, ...(await readScript(file)) } };
}

/** Larger files are not run. */
const MAX_SCRIPT_BYTES = 1024 * 1024;

export async function readScript(file: string, workspace: Pick<Workspace, "stat" | "read">): Promise<ReadScript> {
  try {
    const stat = await workspace.stat(file);
    if (!stat || stat.bytes > MAX_SCRIPT_BYTES) return UNREADABLE;
    const bytes = await workspace.read(file);
    return { sha256: createHash("sha256").update(bytes).digest("hex"), code: Buffer.from(bytes).toString("utf8") };
  } catch (error) {
    if (isGoaldError(error)) return UNREADABLE;
    throw error;
  }
}

type ReadScript = Omit<AskedScript, "file">;
const UNREADABLE: ReadScript = { sha256: null, code: "" };
