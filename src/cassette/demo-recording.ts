/** demo-recording.ts -- reads the recorded run whose model replies and cells of code the demo plays. */
import type { Sandbox } from "#core/ports/sandbox.ts";
import { decodeBody } from "./body.ts";
import { type ExchangeLine, ofType, type Session } from "./format.ts";
import { readCassette } from "./read-cassette.ts";
import { playSandbox } from "./record-cells.ts";

export interface Recording {
  readonly name: string;
  readonly role: string;
  readonly goals: readonly string[];
  /** Exchanges with the model server, in recorded order. */
  readonly exchanges: readonly ExchangeLine[];
  /** Plays the recorded cells without any process; undefined when there are none. */
  readonly sandbox: Sandbox | undefined;
  /** Files in the agent's folder before it starts. */
  readonly files: readonly { readonly path: string; readonly content: Uint8Array }[];
}

/** Reads a recording with a single session. Throws as `readCassette` does. */
export function readRecording(path: string): Recording {
  const [session] = readCassette(path).sessions;
  const { name, role, goals, files } = session.start;
  return {
    name,
    role,
    goals,
    exchanges: ofType(session, "exchange"),
    sandbox: ofType(session, "cell-end").length > 0 ? playCells(session) : undefined,
    files: files.flatMap((file) => ("gone" in file ? [] : [{ path: file.path, content: decodeBody(file) }])),
  };
}

const playCells = (session: Session): Sandbox => playSandbox(session, fail, (_name, compute) => compute());

function fail(what: string): never {
  throw new Error(`The recording does not fit: ${what}.`);
}
