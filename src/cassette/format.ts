/**
 * format.ts -- the cassette: a run as a file that can be read, and played again.
 *
 * NDJSON, one thing that came from outside a line, in the order in which it came. The first line says what the file is; each
 * run of the agent begins with a `session`. An exchange is found again by agent, session, step, attempt and
 * ordinal, and only counts when its request has the same hash. What lies here was redacted before it was written.
 */
import type { GivenSettings } from "#core/agent-settings.ts";
import type { PauseCode } from "#core/event.ts";
import type { FileChange } from "#core/ports/file-version.ts";
import type { InboxRow } from "#core/ports/inbox.ts";
import { canonicalJson, sha256 } from "#store/chain.ts";

export const CASSETTE_VERSION = 1;

/** Exact bytes, in the form that reads best: a JSON value that prints as it came, a text, or base64. */
export type Body = { readonly json: unknown } | { readonly text: string } | { readonly base64: string };

/** A file that was there, or was put there by somebody else than the agent. */
export type FileLine = { readonly path: string } & (
  | ({ readonly sha256: string } & Body)
  /** It is gone. */
  | { readonly gone: true }
);

export interface Header {
  readonly cassette: number;
  readonly goald: string;
}

/** The start of a run of the agent. */
export interface SessionLine {
  readonly type: "session";
  readonly agent: { readonly id: string; readonly createdAt: string };
  readonly name: string;
  readonly role: string;
  readonly goals: readonly string[];
  /** As the agent was created with them. */
  readonly given: GivenSettings;
  /** Of its lease. */
  readonly epoch: number;
  /** The number of its last event, when the run began. */
  readonly head: number;
  /** Those that have a say in what happens, by name. */
  readonly settings: Readonly<Record<string, unknown>>;
  /** What commands found set up; left out for nothing. */
  readonly services?: readonly string[];
  /** Hash of the commands and words that it worked with. */
  readonly catalogue: string;
  /** The session only paused the agent, for this reason; the main loop did not run. */
  readonly pause?: { readonly code: PauseCode; readonly reason: string };
  /** All that lay in the agent's folder. */
  readonly files: readonly FileLine[];
}

/** Names an exchange among those of a session. */
export interface ExchangeKey {
  readonly step: number;
  /** Of the model call or the command. */
  readonly attempt: number;
  /** Among the requests of that attempt, from 1; inside of a call, among those of the call. */
  readonly ordinal: number;
  /** The call that sent it, when what came of that call is played as a whole: there for people, nobody asks for it again. */
  readonly within?: string;
}

export interface ExchangeRequest {
  readonly method: string;
  /** Secrets in the query taken out. */
  readonly url: string;
  /** Of the redacted body. */
  readonly sha256: string;
  /** Left out when it is long. */
  readonly body?: Body;
}

/** An error and what caused it, outermost first. */
export type ErrorChain = readonly {
  readonly name: string;
  readonly message: string;
  readonly code?: string;
  readonly hint?: string;
}[];

export interface ExchangeResponse {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Body;
  /** Where the answer came from, after redirects; left out for the address that was asked. */
  readonly url?: string;
  /** Bytes of a long body that nobody will ask for, in place of which `body` is empty. */
  readonly leftOut?: number;
  /** How the body broke off. */
  readonly error?: ErrorChain;
}

export interface ExchangeLine extends ExchangeKey {
  readonly type: "exchange";
  readonly agent: string;
  readonly request: ExchangeRequest;
  /** An error chain alone: there was no answer. */
  readonly response: ExchangeResponse | { readonly error: ErrorChain };
  /** For a server that plays the answers in their order: texts that the request must show. */
  readonly shown?: readonly string[];
}

/** What people and other agents sent, and settings that a resume brought: found at the `call`th look into the inbox. */
export interface InboxLine {
  readonly type: "inbox";
  readonly call: number;
  readonly rows: readonly InboxRow[];
}

/** What somebody else changed in the folder before the `call`th command of the session. */
export interface FilesLine {
  readonly type: "files";
  readonly call: number;
  readonly step: number;
  readonly files: readonly FileLine[];
}

/** What came of a command that reaches outside: played, never run again. */
export interface OutcomeLine {
  readonly type: "outcome";
  readonly step: number;
  readonly callId: string;
  readonly attempt: number;
  readonly events: readonly unknown[];
  readonly staged: readonly unknown[];
  /** For the history of files. */
  readonly changes: readonly (Omit<FileChange, "content"> & {
    readonly content: Body | null;
    readonly step: number;
    readonly callId: string;
  })[];
  /** How the folder was afterwards, as far as it was another one. */
  readonly files: readonly FileLine[];
  /** How often the clock was read meanwhile. */
  readonly readings: number;
}

/** A value that came from outside the log, such as a price: from its `call`th use in the session on. */
export interface ValueLine {
  readonly type: "value";
  readonly name: string;
  readonly call: number;
  readonly value: unknown;
}

export interface WaitLine {
  readonly type: "wait";
  readonly waitFor: string;
  readonly until: string | null;
  readonly goesOn: boolean;
}

/** About to be made durable. */
export interface CommitLine {
  readonly type: "commit";
  readonly after: number;
  /** Types, for people and for a first comparison. */
  readonly events: readonly string[];
  /** Of the events as canonical JSON. */
  readonly sha256: string;
  /** What the clock was read as since the last such line: milliseconds since 1970, then differences. */
  readonly clock: readonly number[];
}

/** It is durable; the state is what it folds to. */
export interface CommittedLine {
  readonly type: "committed";
  readonly head: number;
  readonly state: string;
}

/** The end of a run. Missing when the process was killed or the agent was cut off. */
export interface EndLine {
  readonly type: "end";
  readonly head: number;
  readonly state: string;
  readonly clock: readonly number[];
  /** Hash by path, of all files in the agent's folder but goald's report. */
  readonly files: Readonly<Record<string, string>>;
}

export type Line =
  | SessionLine
  | ExchangeLine
  | InboxLine
  | FilesLine
  | OutcomeLine
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
  /** Bytes up to the last whole line. */
  readonly bytes: number;
}

/** The one number that two runs are compared by. */
export const stateHash = (state: unknown): string => sha256(canonicalJson(state));

export const ofType = <Type extends Line["type"]>(
  { lines }: Session,
  type: Type,
): Extract<Line, { readonly type: Type }>[] =>
  lines.filter((line): line is Extract<Line, { readonly type: Type }> => line.type === type);

/** The number of the last event that is known to have been durable when the session was over. */
export const headOf = (session: Session): number => ofType(session, "committed").at(-1)?.head ?? session.start.head;
