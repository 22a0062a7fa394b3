/**
 * run-with-saved.ts -- runs a cell in a new process that loads a saved namespace, and gives up a namespace that ends processes.
 *
 * When the process ends before the outcome, the namespace is the reason if a cell that does nothing ends with it too, and
 * does not end without it. Else the code is the reason, and the namespace is kept.
 *
 * This depends on the namespace and the code only, and happens before the cell has a result. So a cell that runs again after a
 * crash comes to the same result.
 */
import type { Cell, CellHost, CellOutcome, SavedNamespace } from "#core/ports/sandbox.ts";
import { MAX_SAVING_MS } from "./protocol.ts";
import { cleanName } from "./read-outcome.ts";

/** Each runs a cell in a new process. */
interface NewProcesses {
  run(cell: Cell, host: CellHost): Promise<CellOutcome>;
  /** Ends the process after the cell. */
  runAlone(cell: Cell, host: CellHost): Promise<CellOutcome>;
}

export async function runWithSaved(
  cell: Cell,
  saved: SavedNamespace,
  host: CellHost,
  { run, runAlone }: NewProcesses,
): Promise<CellOutcome> {
  const noted = noteRequests(host);
  const outcome = await run(cell, noted.host);
  if (outcome.saved) return outcome;
  const { redo: _, ...rest } = cell;
  const idle: Cell = { ...rest, code: "0", timeLimitMs: MAX_SAVING_MS };
  if ((await runAlone(idle, refuseRequests(host))).saved) return outcome;
  const empty = { saved: null } as const;
  const ended = noted.hasRequested
    ? await runAlone({ ...idle, ...empty }, refuseRequests(host))
    : await run({ ...cell, ...empty }, host);
  if (!ended.saved) return outcome;
  const gone = [...saved.definitions.map(([name]) => name), ...Object.keys(saved.values)].map(cleanName);
  if (!noted.hasRequested) return { ...ended, gone };
  return { ...outcome, saved: { version: cell.version, definitions: [], values: {} }, gone };
}

/**
 * Notes requests that have effects: calls, sub-tasks, saved files. They become nested work in the log, so the code that made
 * them must not run a second time. Reading files leaves nothing in the log, and may happen again.
 */
function noteRequests(host: CellHost) {
  const noted = {
    hasRequested: false,
    host: {
      ...host,
      call: (...given: Parameters<CellHost["call"]>) => note(host.call(...given)),
      run: (...given: Parameters<CellHost["run"]>) => note(host.run(...given)),
      saveFiles: (...given: Parameters<CellHost["saveFiles"]>) => note(host.saveFiles(...given)),
    },
  };
  const note = <T>(reply: T): T => {
    noted.hasRequested = true;
    return reply;
  };
  return noted;
}

/** For a cell that only tries a namespace. */
function refuseRequests(host: CellHost): CellHost {
  const error = { code: "not-now", text: "Code that runs while a namespace is loaded or saved cannot call commands." };
  const refuse = async () => ({ error, changesFiles: false });
  return { ...host, call: refuse, run: refuse, saveFiles: refuse };
}
