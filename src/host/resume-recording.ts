/** resume-recording.ts -- continues a recording of an agent that does not run. */
import { GoaldError } from "#core/errors.ts";
import type { AgentRow } from "#core/ports/agent.ts";
import type { HostControlParts } from "./host-control.ts";

/** Throws GOALD_CONFLICT for an agent that runs and is not recorded into this file. */
export function resumeRecording(
  path: string,
  row: AgentRow,
  background: boolean,
  { recordings, supervisor }: Pick<HostControlParts, "recordings" | "supervisor">,
): void {
  if (recordings.pathOf(row) === path) return;
  if (supervisor.runners.get(row.id)?.running)
    throw new GoaldError("GOALD_CONFLICT", `${row.id} is running, and is not recorded into ${path}.`, {
      hint: `Pause it first: goald pause ${row.id}`,
    });
  recordings.resume(path, row, background);
}
