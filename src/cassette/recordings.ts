/**
 * recordings.ts -- keeps which agents of a host are recorded, and into which files. A small file beside the store keeps
 * the path for each of them, so that the next host continues the recording. A recording that cannot be continued or
 * written ends with a report. The agent continues without it.
 */
import { mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { orUndefined, toError } from "#core/errors.ts";
import type { Clock } from "#core/ports/clock.ts";
import type { AgentRow } from "#core/ports/store.ts";
import { parseJson } from "#util/json.ts";
import { Recorder } from "./recorder.ts";
import { continueRecordingFile, createRecordingFile, type RecordingFile } from "./recording-file.ts";
import type { RecorderParts } from "./tape.ts";

interface RecordingsParts {
  /** Private folder with one small file per recorded agent. */
  readonly folder: string;
  readonly clock: Clock;
  /** Version of goald, for the header of a new file. */
  readonly version: string;
  redact(text: string): string;
  report(agent: string, problem: string): void;
}

interface Remembered {
  readonly path: string;
  /** Distinguishes the agent from a later one with the same id. */
  readonly createdAt: string;
  /** Distinguishes the home from a copy of it, which has other agents. */
  readonly folder: string;
}

export class Recordings {
  readonly #parts: RecordingsParts;
  readonly #files = new Map<string, { readonly file: RecordingFile; readonly createdAt: string }>();

  constructor(parts: RecordingsParts) {
    this.#parts = parts;
  }

  /**
   * Creates the file for a new agent, unless a request with this key did. Throws GOALD_USAGE for another that exists.
   * Returns a function that removes what it created.
   */
  create(path: string, key?: string): () => void {
    const isNew = createRecordingFile(path, this.#parts.version, key);
    return () => {
      if (isNew) rmSync(path, { force: true });
    };
  }

  /** Records this agent into the file from now on. Throws GOALD_USAGE when the file does not end where its log does. */
  resume(path: string, row: AgentRow): void {
    if (this.pathOf(row) === path) return;
    const { id, createdAt } = row;
    const { folder } = this.#parts;
    const file = continueRecordingFile(path, row);
    this.forget(id);
    this.#files.set(id, { file, createdAt });
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    const remembered: Remembered = { path, createdAt, folder };
    const place = this.#placeOf(id);
    writeFileSync(`${place}.tmp`, JSON.stringify(remembered), { mode: 0o600 });
    renameSync(`${place}.tmp`, place);
  }

  pathOf(row: AgentRow): string | undefined {
    return this.#fileOf(row)?.path;
  }

  /** Returns the recorder for the next run, which its failure ends; undefined when the agent is not recorded. */
  recorderFor(row: AgentRow): Recorder | undefined {
    const file = this.#fileOf(row);
    if (!file) return undefined;
    const { clock, redact } = this.#parts;
    let failure: Error | undefined;
    const onFailed = (error: Error): void => {
      if (!failure) this.#fail(row.id, file, error);
      failure ??= error;
    };
    const write: RecorderParts["write"] = (line) => {
      try {
        // The file is closed after a failure, and its descriptor may belong to another one.
        if (!failure) file.write(line);
      } catch (thrown) {
        onFailed(toError(thrown));
      }
      // Other lines are about what has happened, such as an answer that was paid for: that is committed first.
      if (failure && (line.type === "session" || line.type === "committed")) throw failure;
    };
    return new Recorder({ write, clock, redact, onFailed });
  }

  /** The next run reads the file again. It ends the recording when the agent's log has gone on without it. */
  release(agent: string): void {
    this.#files.get(agent)?.file.close();
    this.#files.delete(agent);
  }

  forget(agent: string): void {
    this.release(agent);
    rmSync(this.#placeOf(agent), { force: true });
  }

  close(): void {
    for (const agent of this.#files.keys()) this.release(agent);
  }

  #fileOf(row: AgentRow): RecordingFile | undefined {
    const open = this.#files.get(row.id);
    if (open?.createdAt === row.createdAt) return open.file;
    const text = orUndefined(() => readFileSync(this.#placeOf(row.id), "utf8")) ?? "";
    const remembered = parseJson(text) as Remembered | undefined;
    if (remembered?.createdAt !== row.createdAt || remembered.folder !== this.#parts.folder) return undefined;
    try {
      const file = continueRecordingFile(remembered.path, row);
      this.#files.set(row.id, { file, createdAt: row.createdAt });
      return file;
    } catch (thrown) {
      this.#fail(row.id, remembered, toError(thrown));
      return undefined;
    }
  }

  #fail(agent: string, { path }: { readonly path: string }, { message }: Error): void {
    this.forget(agent);
    this.#parts.report(agent, `Its recording in ${path} has ended: ${message}`);
  }

  /** Agent ids are slugs and therefore valid file names. */
  #placeOf(agent: string): string {
    return join(this.#parts.folder, `${agent}.json`);
  }
}
