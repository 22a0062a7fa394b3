/**
 * format.ts -- the cassette format: a run as a file that can be read and replayed.
 *
 * The file is NDJSON: one line for each external input, in the order of arrival. The first line is a header; each run
 * of the agent begins with a `session` line. Session, step, attempt and ordinal identify an answer of a port. A replay
 * gives it only for a request with the same hash. All texts were redacted before they were written.
 */
import type { GivenSettings } from "#core/agent-settings.ts";
import type { PauseCode } from "#core/event.ts";
import type { AgentSpec, FileChange, InboxRow } from "#core/ports/store.ts";
import { sha256 } from "#store/chain.ts";
import { canonicalJson } from "#util/json.ts";

export const RECORDING_VERSION = 1;

/** Exact bytes in the most readable form: a JSON value that prints unchanged, a text, or base64. */
export type Body = { readonly json: unknown } | { readonly text: string } | { readonly base64: string };

/** A file that existed at the start, or that somebody other than the agent changed. */
export type FileLine = { readonly path: string } & (
  | ({ readonly sha256: string } & Body)
  /** The file was removed. */
  | { readonly gone: true }
);

export interface Header {
  /** Version of the format. */
  readonly recording: number;
  readonly goald: string;
}

/** The start of a run of the agent. */
export interface SessionLine {
  readonly type: "session";
  readonly agent: { readonly id: string; readonly createdAt: string };
  readonly name: string;
  readonly role: string;
  readonly goals: readonly string[];
  /** The settings and checks that the agent was created with. */
  readonly given: GivenSettings & Pick<AgentSpec, "checks">;
  /** Epoch of the agent's lease. */
  readonly epoch: number;
  /** Number of the last event when the run began. */
  readonly head: number;
  /** Settings that affect the run, by name. */
  readonly settings: Readonly<Record<string, unknown>>;
  /** Services that commands find ready; absent when there are none. */
  readonly services?: readonly string[];
  /** Hash of the commands and prompt texts of the run. */
  readonly catalogue: string;
  /** The session only paused the agent, for this reason; the main loop did not run. */
  readonly pause?: { readonly code: PauseCode; readonly reason: string };
  /** All files in the agent's folder. */
  readonly files: readonly FileLine[];
}

/** The ports whose answers come from outside. */
export type Port = "model" | "embedder" | "statuses";

/** An error and what caused it, outermost first. */
export type ErrorChain = readonly {
  readonly name: string;
  readonly message: string;
  readonly code?: string;
  readonly hint?: string;
}[];

/** An answer of a port, or its error. */
export interface AnswerLine {
  readonly type: "answer";
  readonly port: Port;
  readonly step: number;
  /** Attempt of the model call or the command. */
  readonly attempt: number;
  /** Counts the answers of that attempt from 1. */
  readonly ordinal: number;
  readonly request: {
    /** Hash of the redacted request as canonical JSON. */
    readonly sha256: string;
    /** Absent for a long request. */
    readonly json?: unknown;
  };
  /** An error chain: the port threw. */
  readonly answer: { readonly value: unknown } | { readonly error: ErrorChain };
}

/** Messages and resume settings that the agent found at its `call`th read of the inbox. */
interface InboxLine {
  readonly type: "inbox";
  readonly call: number;
  readonly rows: readonly InboxRow[];
}

/** Changes that others made in the folder before the `call`th command of the session. */
interface FilesLine {
  readonly type: "files";
  readonly call: number;
  readonly step: number;
  readonly files: readonly FileLine[];
}

/** Outcome of a command with outside effects. A replay plays it and never runs the command. */
export interface OutcomeLine {
  readonly type: "outcome";
  readonly step: number;
  readonly callId: string;
  readonly attempt: number;
  readonly events: readonly unknown[];
  readonly staged: readonly unknown[];
  /** Changes for the file history. */
  readonly changes: readonly (Omit<FileChange, "content"> & {
    readonly content: Body | null;
    readonly step: number;
    readonly callId: string;
  })[];
  /** Changes that the command made in the folder. */
  readonly files: readonly FileLine[];
  /** Number of clock readings during the command, after its last nested work. */
  readonly readings: number;
}

/** Nested work of such a command, written before it begins. The replay runs it through the loop. */
interface NestedLine {
  readonly type: "nested";
  readonly callId: string;
  readonly attempt: number;
  /** Events that push its frame; none when an earlier session pushed it. */
  readonly push: readonly unknown[];
  /** Number of clock readings of the command since it began or since its last nested work. */
  readonly readings: number;
}

/** An external value, such as a price. It applies from its `call`th use in the session on. */
interface ValueLine {
  readonly type: "value";
  readonly name: string;
  readonly call: number;
  readonly value: unknown;
}

interface WaitLine {
  readonly type: "wait";
  readonly waitFor: string;
  readonly until: string | null;
  readonly goesOn: boolean;
}

/** Written before the commit. */
interface CommitLine {
  readonly type: "commit";
  readonly after: number;
  /** Event types, for people and for a first comparison. */
  readonly events: readonly string[];
  /** Hash of the events as canonical JSON. */
  readonly sha256: string;
  /** Clock readings since the last such line: milliseconds since 1970, then differences. */
  readonly clock: readonly number[];
}

/** Written after the commit. `state` is the hash of the folded state. */
interface CommittedLine {
  readonly type: "committed";
  readonly head: number;
  readonly state: string;
}

/** The end of a run. Absent when the process was killed or the agent was cut off. */
export interface EndLine {
  readonly type: "end";
  readonly head: number;
  readonly state: string;
  readonly clock: readonly number[];
  /** Hash of each file in the agent's folder by path, without goald's report. */
  readonly files: Readonly<Record<string, string>>;
}

export type Line =
  | SessionLine
  | AnswerLine
  | InboxLine
  | FilesLine
  | OutcomeLine
  | NestedLine
  | CellAskLine
  | CellEndLine
  | ValueLine
  | WaitLine
  | CommitLine
  | CommittedLine
  | EndLine;

export interface Session {
  readonly start: SessionLine;
  readonly lines: readonly Line[];
  readonly end: EndLine | undefined;
}
export interface Cassette {
  readonly path: string;
  readonly header: Header;
  readonly sessions: readonly [Session, ...Session[]];
  /** Number of bytes up to the end of the last whole line. */
  readonly bytes: number;
}

/** Hash by which two runs are compared. */
export const stateHash = (state: unknown): string => sha256(canonicalJson(state));

export const ofType = <Type extends Line["type"]>(
  { lines }: Pick<Session, "lines">,
  type: Type,
): Extract<Line, { readonly type: Type }>[] =>
  lines.filter((line): line is Extract<Line, { readonly type: Type }> => line.type === type);

/** Number of the last event that the session is known to have committed. */
export const headOf = (session: Session): number => ofType(session, "committed").at(-1)?.head ?? session.start.head;

// The lines of a cassette about cells of code: what the code asked its host for, and how it ended.

/** A question of the code of a cell to its host. */
export type CellAsk =
  | { readonly what: "call"; readonly name: string; readonly args: Readonly<Record<string, unknown>> }
  | {
      readonly what: "run";
      readonly task: string;
      readonly returns: Readonly<Record<string, unknown>>;
      readonly form: string | null;
    }
  | { readonly what: "list" }
  | { readonly what: "read"; readonly path: string }
  /** `content` null: the file was removed. */
  | { readonly what: "save"; readonly changes: readonly { readonly path: string; readonly content: Body | null }[] };

/** Written before the host answers. `version`: the cell's, unique in the agent. */
export interface CellAskLine {
  readonly type: "cell-ask";
  readonly version: string;
  readonly ask: CellAsk;
}

/** The end of a cell. Absent when its call was left open. */
export interface CellEndLine {
  readonly type: "cell-end";
  readonly version: string;
  readonly outcome: unknown;
}
