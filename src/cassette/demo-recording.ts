/** demo-recording.ts -- reads the recorded run whose model replies the demo server plays. */
import { decodeBody } from "./body.ts";
import { type ExchangeLine, ofType } from "./format.ts";
import { readCassette } from "./read-cassette.ts";

export interface Recording {
  readonly name: string;
  readonly role: string;
  readonly goals: readonly string[];
  /** Exchanges with the model server, in recorded order. */
  readonly exchanges: readonly ExchangeLine[];
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
    files: files.flatMap((file) => ("gone" in file ? [] : [{ path: file.path, content: decodeBody(file) }])),
  };
}
