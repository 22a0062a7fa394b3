/** asked-script.ts -- the code of a file that a call runs, as a person sees it before answering. Pure. */
import type { CommandCall } from "./call.ts";
import type { Text } from "./text.ts";

export interface ScriptHash {
  /** SHA-256 of the file's bytes; null when it could not be read. */
  readonly sha256: string | null;
}

/** A file when the question was asked. The call runs only this content. */
export interface AskedScript extends ScriptHash {
  readonly file: string;
  /** The whole content; empty when it could not be read. */
  readonly code: Text;
}

const RUNS_FILE = "execute_python_file";

/** The file whose code the call runs; undefined for another call. */
export function scriptOf({ name, args }: CommandCall): string | undefined {
  const { file } = args;
  return name === RUNS_FILE && typeof file === "string" ? file : undefined;
}
