/** recording.ts -- the demo's agent: a recorded run, of which a server plays the model's side again. */
import { decodeBody } from "./body.ts";
import { type ExchangeLine, ofType } from "./format.ts";
import { readCassette } from "./read-cassette.ts";

export interface Recording {
  readonly name: string;
  readonly role: string;
  readonly goals: readonly string[];
  /** Those with the model's server, in their order. */
  readonly exchanges: readonly ExchangeLine[];
  /** Files that lie in the agent's folder before it starts. */
  readonly files: readonly { readonly path: string; readonly content: Uint8Array }[];
}

/** Of a run in one session. Throws as `readCassette` does. */
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
