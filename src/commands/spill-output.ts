/** spill-output.ts -- puts the whole of a long output into a file, and a pointer to it into the observation. */
import { MAX_OBSERVATION_CHARS, type Observation } from "#core/call.ts";
import { isGoaldError } from "#core/errors.ts";
import { clip } from "#core/text.ts";
import type { CallFrame, Execution } from "./execute.ts";

export async function spillOutput(
  call: CallFrame,
  observation: Observation,
  text: string,
  execution: Execution<unknown>,
): Promise<Execution<Observation>> {
  const path = `_goald/outputs/${call.callId}.txt`;
  const files = [...execution.files];
  const kept = await keepOutput();
  const pointer = kept
    ? `\n[${text.length} characters in all; the whole is in ${path}: read_file shows it in parts.]`
    : `\n[${text.length} characters in all; the rest could not be kept.]`;
  const shown = clip(text, MAX_OBSERVATION_CHARS - pointer.length) + pointer;
  const artifacts = kept ? [...observation.artifacts, path] : observation.artifacts;
  return { ...execution, result: { ...observation, text: shown, artifacts }, files };

  async function keepOutput(): Promise<boolean> {
    try {
      await call.openOwnWorkspace(call.folder, (change) => files.push(change)).write(path, text);
      return true;
    } catch (error) {
      if (isGoaldError(error, "GOALD_STORE_FULL")) throw error;
      return false;
    }
  }
}
