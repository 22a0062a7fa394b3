/**
 * protocol.ts -- the messages between the host and the process of a namespace, as frames of JSON and bytes
 * (cage/frames.ts). The process is one thread that blocks while it waits for its host. So the conversation is a stack:
 * the host sends a cell; the process asks, the host replies; in place of a reply the host may send another cell, which
 * runs inside that wait, and whose end comes before the reply.
 */
import type {
  Cell,
  CellBridge,
  CellCallError,
  CellOutcome,
  NamespaceChange,
  SavedNamespace,
} from "#core/ports/sandbox.ts";

/** Arguments of the process: one JSON value. */
export interface GuestOptions {
  /** Memory that code may use. */
  readonly memoryMegabytes: number;
  /** Absolute path of the start-up snapshot of Python; null: start without one. */
  readonly snapshot: string | null;
}

export type GuestCell = Omit<Cell, "agent" | "saved">;

/** The host's messages. `saved` null: start with an empty namespace; absent: keep the live one. */
export type ToGuest =
  | { readonly type: "cell"; readonly cell: GuestCell; readonly saved?: SavedNamespace | null }
  | Reply;

/** Bytes of the frame: the content, for a file that was read. */
export type Reply = {
  readonly type: "reply";
  readonly changesFiles?: boolean;
  readonly change?: NamespaceChange;
} & ({ readonly value: unknown } | { readonly error: CellCallError });

/** The process's messages. The first is `ready`. */
export type FromGuest =
  | { readonly type: "ready" }
  | Question
  /**
   * A cell came with a saved namespace, which is loaded now: the limit of its code starts. Loading takes at most MAX_LOADING_MS
   * before. At most once per cell, and no reply follows.
   */
  | { readonly type: "loaded" }
  /**
   * The code of the innermost cell has ended, at its own or at its time limit. The process saves files and the namespace from
   * now on, for at most MAX_SAVING_MS; the limit of the code no longer applies. At most once per cell, and no reply follows.
   */
  | { readonly type: "ended" }
  /** The last line that the innermost cell has printed, for whoever watches; at most a few times a second. No reply follows. */
  | { readonly type: "printed"; readonly line: string }
  /** The end of the innermost cell. */
  | { readonly type: "done"; readonly outcome: CellOutcome };

export type Question = { readonly type: "ask" } & (
  | { readonly what: "call"; readonly name: string; readonly args: Readonly<Record<string, unknown>> }
  | {
      readonly what: "run";
      readonly task: string;
      readonly returns: Readonly<Record<string, unknown>>;
      readonly form: string | null;
    }
  | { readonly what: "list" }
  | { readonly what: "read"; readonly path: string }
  /** Bytes of the frame: the contents, one after the other. `bytes`: the length of each; null: removed. */
  | { readonly what: "save"; readonly files: readonly { readonly path: string; readonly bytes: number | null }[] }
);

export type FileList = Awaited<ReturnType<CellBridge["listFiles"]>>;

/** Runs one cell, and may ask its host meanwhile. */
export type RunCell = (cell: GuestCell, saved: SavedNamespace | null | undefined) => CellOutcome;

/** What an engine has of its host. Each call blocks. */
export interface EngineHost {
  ask(question: Question, bytes?: Uint8Array): { readonly reply: Reply; readonly bytes: Uint8Array };
  /** Milliseconds that the innermost cell has left; waits for the host do not count. */
  timeLeftMs(): number;
  /** The saved namespace of the innermost cell is loaded: the time of its code starts. */
  startCode(): void;
  /** Shows a line that code has printed, of at most 400 characters. */
  show(line: string): void;
  /** The code of the innermost cell has ended. `timeLeftMs` is the time for saving from now on. Only the first call counts. */
  endCode(): void;
}

/** Time until `loaded`, and time from `ended` to `done`, without waits for the host. */
export const MAX_LOADING_MS = 10_000;
export const MAX_SAVING_MS = 5_000;

/** Limits of one cell. */
export const MAX_OUTPUT_CHARS = 65_536;
export const MAX_VALUE_CHARS = 65_536;
/** JSON of a value. The host keeps only the text of one whose JSON is longer. */
export const MAX_VALUE_JSON_CHARS = 1_048_576;
/** Longest frame in either direction, and the JSON of one: the host parses it in one go. */
export const MAX_FRAME_BYTES = 80 * 1024 * 1024;
export const MAX_FRAME_JSON_BYTES = 16 * 1024 * 1024;
/** The JSON of a message other than `done`, of which a cell may send thousands. Its first member is `type`. */
export const MAX_QUESTION_BYTES = 2 * 1024 * 1024;
/** Largest file that code reads or writes, and all files of one `save`. */
export const MAX_FILE_BYTES = 64 * 1024 * 1024;
/** Everything of a namespace that is kept between processes. */
export const MAX_SAVED_BYTES = 8 * 1024 * 1024;
