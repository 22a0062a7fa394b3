/**
 * verbs.ts -- runs many calls of goald's command line in one process, for tests of what they print.
 *
 * A start of the binary costs ten times what most verbs do. Tests of streams, signals, kills and exits
 * need the binary.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { fileURLToPath } from "node:url";

export interface VerbCall {
  readonly args: readonly string[];
  readonly cwd: string;
  /** The complete environment. */
  readonly env: Readonly<Record<string, string>>;
}

export interface VerbOutcome {
  readonly stdout: string;
  readonly stderr: string;
  readonly code: number;
}

const CHILD = fileURLToPath(new URL("./verbs.child.ts", import.meta.url));
/** Shorter than a test's own time limit. */
const WAIT_LIMIT_MS = 45_000;

/** Starts the process at the first call. */
export function openVerbProcess() {
  let child: ChildProcess | undefined;
  let last: Promise<unknown> = Promise.resolve();

  function start({ cwd, env }: VerbCall): ChildProcess {
    const started = spawn(process.execPath, ["--disable-warning=ExperimentalWarning", CHILD], {
      cwd,
      env,
      // Jest's own streams may be a terminal.
      stdio: ["ignore", "ignore", "pipe", "ipc"],
    });
    started.stderr?.pipe(process.stderr, { end: false });
    return started;
  }

  function answer(call: VerbCall): Promise<VerbOutcome> {
    const asked = child ?? start(call);
    child = asked;
    return new Promise((resolve, reject) => {
      const patience = setTimeout(() => asked.kill("SIGKILL"), WAIT_LIMIT_MS);
      const settle = (act: () => void): void => {
        clearTimeout(patience);
        asked.removeAllListeners();
        act();
      };
      asked.once("message", (outcome: VerbOutcome) => settle(() => resolve(outcome)));
      asked.once("error", (error) => settle(() => reject(error)));
      asked.once("exit", (code, signal) =>
        settle(() => {
          child = undefined;
          reject(new Error(`The process of the verbs ended by ${signal ?? code} during ${JSON.stringify(call.args)}.`));
        }),
      );
      asked.send(call);
    });
  }

  return {
    /** Runs one call after the other, in order. Rejects when the process ends. */
    ask(call: VerbCall): Promise<VerbOutcome> {
      const answered = last.then(() => answer(call));
      last = answered.catch(() => undefined);
      return answered;
    },
    close: () => child?.kill("SIGKILL"),
  };
}
