/**
 * sandbox.ts -- the port of the sandbox: runs cells of Python, each in the namespace of one agent.
 *
 * A namespace lasts from cell to cell. While a cell waits for its host (a command, a sub-task, a file), another cell of
 * the same namespace may run inside that wait. Code sees a private copy of the agent's folder: it reads through
 * `CellBridge.readFile`, and its changes go out through `CellBridge.saveFiles`, before each call that may look at files and at
 * the end of the cell. It reaches nothing else.
 */
/** The rule for imports in code: nothing, all but what reaches beyond the sandbox, or anything. The rule is a convenience, not the boundary. */
export type ImportRule = "none" | "safe" | "all";

/** A command, as code calls it: by position in the order of `parameters`, or by name. */
export interface CellFunction {
  readonly name: string;
  readonly parameters: readonly { readonly name: string; readonly isRequired: boolean }[];
  /** Such as `read_file(file: str, first_line: int = None) -> str`. */
  readonly signature: string;
  readonly doc: string;
}

/** A file of pure Python helpers from the home, defined in the namespace before the first cell. */
export interface CellModule {
  /** File name, such as `dates.py`. */
  readonly file: string;
  readonly source: string;
}

/** The content of a namespace, as it is kept between processes. */
export interface SavedNamespace {
  /** Unique per agent: the id of the call that saved it, with its attempt. */
  readonly version: string;
  /** Imports, functions, classes: name and source, in the order in which they were defined. */
  readonly definitions: readonly (readonly [name: string, source: string])[];
  /** Serialised values by name: a base64 pickle. Only the sandbox may read them. */
  readonly values: Readonly<Record<string, string>>;
}

/** Names and values of a namespace that nested work changed. Null removes a name. */
export interface NamespaceChange {
  readonly definitions: readonly (readonly [name: string, source: string | null])[];
  readonly values: Readonly<Record<string, string | null>>;
}

export interface Cell {
  /** Id of the agent. Each agent has one namespace. */
  readonly agent: string;
  readonly code: string;
  /** Name of the code in errors, such as `cell c7` or `plot.py`. */
  readonly name: string;
  /** Version of the namespace after this cell. */
  readonly version: string;
  /** The namespace before this cell: null for an empty one. A live namespace of another version is discarded. */
  readonly saved: SavedNamespace | null;
  /** What cells inside the same nested work did to the namespace before a crash, to be done before the code runs. */
  readonly redo?: NamespaceChange;
  /** Seed of Python's random numbers, from 0 to 2^32 - 1. */
  readonly seed: number;
  /** ISO time at which the clock of the code starts. */
  readonly startedAt: string;
  /** Time that the code may take. It stands still while the code waits for its host. */
  readonly timeLimitMs: number;
  readonly functions: readonly CellFunction[];
  readonly modules: readonly CellModule[];
  readonly imports: ImportRule;
  /** Dictionary that `get_user_location()` returns; null: an error that says so. Absent: there is no such function. */
  readonly location?: Readonly<Record<string, unknown>> | null;
  /** True: `stop()` ends the cell, and the outcome says so. */
  readonly hasStop?: boolean;
  /** True: the cell has a namespace and a process of its own, which end with it. `saved` is null, and `outcome.saved` has no use. */
  readonly isAlone?: boolean;
}

export interface CellFile {
  /** Relative to the agent's folder, with `/`. */
  readonly path: string;
  readonly bytes: number;
  /** Changes when the content changes. */
  readonly stamp: string;
}

/** A file that code wrote or removed. `bytes` null: removed. Empty folders are not kept. */
export interface CellFileChange {
  readonly path: string;
  readonly bytes: Uint8Array | null;
}

/** An error that code sees as an exception: `CommandError(code, text)`. */
export interface CellCallError {
  readonly code: string;
  readonly text: string;
}
export type CellReply<T> = { readonly value: T } | { readonly error: CellCallError };

/** The questions that code can ask. Each call blocks the code. A rejection ends the cell and its process. */
export interface CellBridge {
  /** `value`: JSON. `changesFiles`: the folder may have changed. */
  call(
    name: string,
    args: Readonly<Record<string, unknown>>,
  ): Promise<CellReply<unknown> & { readonly changesFiles: boolean }>;
  /**
   * Gives the model a task; the value is valid against `returns`. `change`: what nested cells did to the namespace, when the
   * sub-task had ended before this run of the cell.
   */
  run(
    task: string,
    returns: Readonly<Record<string, unknown>>,
    form: string | null,
  ): Promise<CellReply<unknown> & { readonly change?: NamespaceChange }>;
  /** All files, up to a maximum number. */
  listFiles(): Promise<{ readonly files: readonly CellFile[]; readonly isComplete: boolean }>;
  readFile(path: string): Promise<CellReply<Uint8Array>>;
  saveFiles(changes: readonly CellFileChange[]): Promise<CellReply<null>>;
  /** Receives the last line that the code has printed, a few times a second at most, without control characters. */
  readonly show?: ((line: string) => void) | undefined;
}

export interface CellProblem {
  readonly kind: "syntax" | "error" | "timeout" | "memory" | "died";
  /** Such as `NameError`. */
  readonly type: string;
  readonly message: string;
  /** Line of the cell's code that failed, from 1; null when there is none. */
  readonly line: number | null;
  readonly source: string | null;
  /** A name that does not exist, as the code wrote it. */
  readonly missingName?: string;
  /** The error of the command that raised it. */
  readonly command?: CellCallError;
}

export interface LostName {
  readonly name: string;
  /** Such as `a generator cannot be kept`. */
  readonly reason: string;
}

interface CellEnd {
  /** The output of both streams, cut in the middle at a limit, without control characters. */
  readonly output: string;
  readonly isCut: boolean;
  /** The namespace after the cell; null when it could not be read. */
  readonly saved: SavedNamespace | null;
  /** Names that `saved` does not have. */
  readonly lost: readonly LostName[];
  /** Names of the namespace before, which ended each process that loaded it. `saved` is without them. */
  readonly gone?: readonly string[];
  /** For a cell that ran inside another one: what it changed. */
  readonly change?: NamespaceChange;
  /** Time of the code itself. */
  readonly durationMs: number;
}

export type CellOutcome =
  | (CellEnd & {
      readonly kind: "done";
      /** The last expression: its text, and its JSON when it has one. Null when there is none, or it is None or undefined. */
      readonly value: { readonly text: string; readonly json?: unknown } | null;
      /** The code called `stop()` or `stop(value)`, which asks to end the work; null when it did not. */
      readonly stop: { readonly value?: unknown } | null;
    })
  | (CellEnd & { readonly kind: "failed"; readonly problem: CellProblem });

export interface SandboxFinding {
  readonly level: "strict" | "degraded";
  /** A sentence that says what holds, or why no more does. */
  readonly reason: string;
}

export interface Sandbox {
  find(): Promise<SandboxFinding>;
  /**
   * Runs one cell. Waits for a free process, except inside another cell of the same namespace. Rejects only with the signal's
   * reason, or with what a method of `host` rejected with; the process is then gone, and the namespace is that of `saved`.
   */
  run(cell: Cell, host: CellBridge, signal: AbortSignal): Promise<CellOutcome>;
  /** True while other namespaces wait for a process: a cell that waits for long should give its own back. */
  readonly isCrowded: boolean;
  close(): Promise<void>;
}
