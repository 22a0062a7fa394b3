/**
 * complete-events.ts -- adds to a decided event what only the log or the folder knows: the script of a question, the
 * memory of a turn.
 */
import { hash } from "node:crypto";
import { type AskedScript, scriptOf } from "#core/call.ts";
import { isGoaldError } from "#core/errors.ts";
import type { NewEvent } from "#core/event.ts";
import type { Workspace } from "#core/ports/workspace.ts";
import { openCommand } from "#core/state.ts";
import type { Journal, Outcome } from "./journal.ts";
import type { RunParts } from "./run-parts.ts";

/** A question and the end of a turn are always decided alone. */
export async function completeEvents(
  events: readonly NewEvent[],
  journal: Journal,
  parts: Pick<RunParts, "readScript" | "keepText" | "rules">,
): Promise<Outcome> {
  const [event] = events;
  switch (event?.type) {
    case "approval-asked": {
      const call = openCommand(journal.state, event.callId)?.call;
      const file = call && scriptOf(call);
      if (file === undefined || !parts.readScript) return { events };
      return { events: [{ ...event, script: { file, ...(await parts.readScript(file)) } }] };
    }
    case "turn-finished":
      return (await import("./turn-memory.ts")).rememberTurn(event, journal, parts);
    default:
      return { events };
  }
}

/** Larger files are not run. */
const MAX_SCRIPT_BYTES = 1024 * 1024;

export async function readScript(file: string, workspace: Pick<Workspace, "stat" | "read">): Promise<ReadScript> {
  try {
    const stat = await workspace.stat(file);
    if (!stat || stat.bytes > MAX_SCRIPT_BYTES) return UNREADABLE;
    const bytes = await workspace.read(file);
    return { sha256: hash("sha256", bytes), code: Buffer.from(bytes).toString("utf8") };
  } catch (error) {
    if (isGoaldError(error)) return UNREADABLE;
    throw error;
  }
}

type ReadScript = Omit<AskedScript, "file">;
const UNREADABLE: ReadScript = { sha256: null, code: "" };
