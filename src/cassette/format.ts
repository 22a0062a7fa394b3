/**
 * format.ts -- the cassette format: a run as a file that can be read and replayed. The file is NDJSON: one line for
 * each external input, in the order of arrival. The first line is a header; each run of the agent begins with a
 * `session` line. Session, step, attempt and ordinal identify an answer of a port. A replay gives it only for a request
 * with the same hash. All texts were redacted before they were written.
 */
import type { GivenSettings } from "#core/agent-settings.ts";
import type { PauseCode } from "#core/event.ts";
import type { AgentSpec, FileChange, InboxRow } from "#core/ports/store.ts";
import { sha256 } from "#store/chain.ts";
import { canonicalJson } from "#util/json.ts";
import {
  anyOf,
  count,
  flag,
  listOf,
  nullable,
  oneOf,
  open,
  recordOf,
  type Schema,
  type Static,
  text,
  typed,
} from "#util/schema.ts";

export const RECORDING_VERSION = 1;

export interface Header {
  /** Version of the format. */
  readonly recording: number;
  readonly goald: string;
  /** Key of the request that created the file. */
  readonly key?: string | undefined;
}

/** A replay claims the agent once for each lease that the run did not have. */
const MAX_EPOCH = 10_000;
/** Clock readings of one command. */
const MAX_READINGS = 1_000_000;
/** The last time that a Date can hold. */
export const MAX_TIME = 8.64e15;

const number: Schema<number> = { ...count, maximum: 2 ** 31 };
const readings: Schema<number> = { ...count, maximum: MAX_READINGS };
/** Clock readings since the last such line: milliseconds since 1970, then differences. */
const clock = listOf<number>({ type: "integer", minimum: -MAX_TIME, maximum: MAX_TIME });
const instant: Schema<string> = { type: "string", pattern: "^\\d{4}-\\d\\d-\\d\\dT[\\d:.]{5,12}Z$" };
const record = typed<Readonly<Record<string, unknown>>>({ type: "object" });
const events = listOf(typed<unknown>(open({ type: text })));

/** Exact bytes in the most readable form: a JSON value that prints unchanged, a text, or base64. */
export type Body = { readonly json: unknown } | { readonly text: string } | { readonly base64: string };
const holdsBody = [{ required: ["json"] }, { required: ["text"] }, { required: ["base64"] }];
const body = typed<Body>({ type: "object", properties: { text, base64: text }, anyOf: holdsBody });

/** A file that existed at the start, or that somebody other than the agent changed. */
export type FileLine = { readonly path: string } & (
  | ({ readonly sha256: string } & Body)
  /** The file was removed. */
  | { readonly gone: true }
);
const files = listOf(
  typed<FileLine>({
    ...open(
      { path: text, sha256: text, gone: { const: true }, text, base64: text },
      "sha256",
      "gone",
      "text",
      "base64",
    ),
    anyOf: [...holdsBody, { required: ["gone"] }],
  }),
);

/** An error and what caused it, outermost first. */
const errors = listOf(open({ name: text, message: text, code: text, hint: text }, "code", "hint"));
export type ErrorChain = Static<typeof errors>;

type Change = Omit<FileChange, "content"> & {
  readonly content: Body | null;
  readonly step: number;
  readonly callId: string;
};
const change = typed<Change>(
  open({ path: text, operation: text, bytes: number, content: nullable(body), step: number, callId: text }),
);

/** A question of the code of a cell to its host. */
const ask = anyOf(
  open({ what: oneOf("call"), name: text, args: record }),
  open({ what: oneOf("run"), task: text, returns: record, form: nullable(text) }),
  open({ what: oneOf("list") }),
  open({ what: oneOf("read"), path: text }),
  // `content` null: the file was removed.
  open({ what: oneOf("save"), changes: listOf(open({ path: text, content: nullable(body) })) }),
);
export type CellAsk = Static<typeof ask>;

const ended = {
  output: text,
  isCut: flag,
  saved: nullable(open({ version: text, definitions: listOf(listOf(text)), values: recordOf(text) })),
  lost: listOf(open({ name: text, reason: text })),
  durationMs: { type: "number" },
};
const problem = open({ kind: text, type: text, message: text, line: nullable(number), source: nullable(text) });

/** The ports whose answers come from outside. */
const port = oneOf("model", "embedder", "statuses");
export type Port = Static<typeof port>;

/**
 * The lines by their type. Each line is checked before anything of a recording is played: it may come from anybody.
 * Numbers have limits, since a replay counts up to some of them.
 */
export const LINE_SCHEMAS = {
  /** The start of a run of the agent. */
  session: open(
    {
      agent: open({ id: text, createdAt: instant }),
      name: text,
      role: text,
      goals: listOf(text),
      /** The settings and checks that the agent was created with. */
      given: typed<GivenSettings & Pick<AgentSpec, "checks">>(record),
      epoch: typed<number>({ ...number, minimum: 1, maximum: MAX_EPOCH }),
      /** Number of the last event when the run began. */
      head: number,
      /** Settings that affect the run, by name. */
      settings: record,
      /** Services that commands find ready; absent when there are none. */
      services: listOf(text),
      /** Hash of the commands and prompt texts of the run. */
      catalogue: text,
      /** The session only paused the agent, for this reason; the main loop did not run. */
      pause: open({ code: typed<PauseCode>(text), reason: text }),
      /** All files in the agent's folder. */
      files,
    },
    "services",
    "pause",
  ),
  answer: open({
    port,
    step: number,
    /** Attempt of the model call or the command. */
    attempt: number,
    /** Counts the answers of that attempt from 1. */
    ordinal: number,
    /** `sha256`: of the redacted request as canonical JSON. `json` is absent for a long request. */
    request: open({ sha256: text, json: typed<unknown>({}) }, "json"),
    /** An error chain: the port threw. */
    answer: anyOf(open({ value: typed<unknown>({}) }), open({ error: errors })),
  }),
  /** Messages and resume settings that the agent found at its `call`th read of the inbox. */
  inbox: open({
    call: number,
    rows: listOf(typed<InboxRow>(open({ key: text, message: open({ type: text }), at: instant }))),
  }),
  /** Changes that others made in the folder before the `call`th command of the session. */
  files: open({ call: number, step: number, files }),
  /** Outcome of a command with outside effects. A replay plays it and never runs the command. */
  outcome: open({
    step: number,
    callId: text,
    attempt: number,
    events,
    staged: listOf(typed<unknown>({ type: "object" })),
    changes: listOf(change),
    /** Changes that the command made in the folder. */
    files,
    /** Number of clock readings during the command, after its last nested work. */
    readings,
  }),
  /**
   * Nested work of such a command, written before it begins. The replay runs it through the loop. `push`: events that
   * push its frame; none when an earlier session pushed it. `readings`: of the command since it began or since its last
   * nested work.
   */
  nested: open({ callId: text, attempt: number, push: events, readings }),
  /** Written before the host answers. `version`: the cell's, unique in the agent. */
  "cell-ask": open({ version: text, ask }),
  /** The end of a cell. Absent when its call was left open. */
  "cell-end": open({
    version: text,
    outcome: typed<unknown>(
      anyOf(
        open({ kind: oneOf("done"), ...ended, value: nullable(open({ text })), stop: nullable(record) }),
        open({ kind: oneOf("failed"), ...ended, problem }),
      ),
    ),
  }),
  /** An external value, such as a price. It applies from its `call`th use in the session on. */
  value: open({ name: text, call: number, value: typed<unknown>({}) }, "value"),
  wait: open({ waitFor: text, until: nullable(text), goesOn: flag }),
  /**
   * Written before the commit. `events`: their types, for people and for a first comparison. `sha256`: of the events as
   * canonical JSON.
   */
  commit: open({ after: number, events: listOf(text), sha256: text, clock }),
  /** Written after the commit. `state` is the hash of the folded state. */
  committed: open({ head: number, state: text }),
  /**
   * The end of a run. Absent when the process was killed or the agent was cut off. `files`: hash of each file in the
   * agent's folder by path, without goald's report.
   */
  end: open({ head: number, state: text, clock, files: recordOf(text) }),
} satisfies Readonly<Record<string, Schema>>;

type LineType = keyof typeof LINE_SCHEMAS;
type LineOf<Type extends LineType> = { readonly type: Type } & Static<(typeof LINE_SCHEMAS)[Type]>;
export type Line = { [Type in LineType]: LineOf<Type> }[LineType];
export type SessionLine = LineOf<"session">;
export type AnswerLine = LineOf<"answer">;
export type OutcomeLine = LineOf<"outcome">;
export type EndLine = LineOf<"end">;
export type CellAskLine = LineOf<"cell-ask">;
export type CellEndLine = LineOf<"cell-end">;

export interface Session {
  readonly start: SessionLine;
  readonly lines: readonly Line[];
  readonly end: EndLine | undefined;
}
export interface Cassette extends Pick<Header, "key"> {
  readonly path: string;
  readonly sessions: readonly [Session, ...Session[]];
  /** Number of bytes up to the end of the last whole line. */
  readonly bytes: number;
}

/** Hash by which two runs are compared. */
export const stateHash = (state: unknown): string => sha256(canonicalJson(state));

export const ofType = <Type extends LineType>({ lines }: Pick<Session, "lines">, type: Type): LineOf<Type>[] =>
  lines.filter((line): line is Line & LineOf<Type> => line.type === type);

/** Number of the last event that the session is known to have committed. */
export const headOf = (session: Session): number => ofType(session, "committed").at(-1)?.head ?? session.start.head;
