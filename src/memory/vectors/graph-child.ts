/**
 * graph-child.ts -- the daemon's end of the process in which a graph lives.
 *
 * A request has a time limit; when it is over, or the process dies, the request is rejected and the process is gone
 * for good: whoever owns this starts another. It never holds the daemon's loop or its end, and it is given
 * nothing: no environment, no files but one folder, no input or output but the channel.
 */
import { type ChildProcess, fork } from "node:child_process";
import { extname } from "node:path";
import { GoaldError } from "#core/errors.ts";
import type { GraphRequestName, GraphRequests } from "./graph-messages.ts";
import type { FromGraph, ToGraph } from "./graph-process.ts";

/** The extension of a checkout or that of the published package: this file's own. */
const PROGRAM = new URL(`./graph-process${extname(import.meta.url)}`, import.meta.url);
/** More requests than this are refused at once. */
const MAX_PENDING = 32;
const STOP_MS = 2_000;
/** A graph of 100,000 vectors is read in a second and written in two; a lot of changes takes a tenth of one. */
const LIMITS_MS: Readonly<Record<GraphRequestName, number>> = {
  open: 120_000,
  change: 60_000,
  search: 250,
  keep: 300_000,
};

interface Pending {
  resolve(answer: unknown): void;
  reject(error: GoaldError): void;
}

export class GraphChild {
  readonly #process: ChildProcess;
  readonly #pending = new Map<number, Pending>();
  readonly #exited: Promise<void>;
  #lastId = 0;
  #isStopping = false;
  /** The library is not there, or not for this machine: another start would end the same way. */
  isMissing = false;

  /** `onDeath`: it ended unasked. */
  constructor(onDeath: () => void) {
    this.#process = fork(PROGRAM, [], {
      cwd: "/",
      env: {},
      execArgv: [],
      serialization: "advanced",
      stdio: ["ignore", "ignore", "ignore", "ipc"],
    });
    this.#process.unref();
    this.#process.channel?.unref();
    this.#process.on("message", (message: FromGraph) => this.#settle(message));
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#exited = promise;
    this.#process.once("exit", () => resolve());
    // One that could not be started has no exit.
    this.#process.on("error", () => resolve());
    void promise.then(() => {
      this.#process.kill("SIGKILL");
      this.#rejectAll();
      if (!this.#isStopping) onDeath();
    });
  }

  /** Also tells a person which process it is. */
  get pid(): number | undefined {
    return this.#process.pid;
  }

  /** Rejects when it cannot be asked, says no, dies, or takes longer than `limitMs`; a late search is the only thing that it survives. */
  ask<Name extends GraphRequestName>(
    name: Name,
    request: GraphRequests[Name]["request"],
    limitMs: number = LIMITS_MS[name],
  ): Promise<GraphRequests[Name]["answer"]> {
    if (!this.#process.connected || this.#pending.size >= MAX_PENDING)
      return Promise.reject(unavailable(this.#process.connected ? "is busy" : "is gone"));
    const id = ++this.#lastId;
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        this.#pending.get(id)?.reject(unavailable(`did not answer in ${limitMs} ms`));
        if (name !== "search") void this.kill();
      }, limitMs);
      const done = () => {
        clearTimeout(timer);
        this.#pending.delete(id);
        if (this.#pending.size === 0) this.#process.channel?.unref();
      };
      this.#pending.set(id, {
        resolve: (answer) => {
          done();
          resolve(answer as GraphRequests[Name]["answer"]);
        },
        reject: (error) => {
          done();
          reject(error);
        },
      });
      this.#process.channel?.ref();
      // What cannot be sent is never answered; the process's end tells.
      const message: ToGraph = { id, name, request };
      this.#process.send(message, (error) => {
        if (error) this.#pending.get(id)?.reject(unavailable(error.message));
      });
    });
  }

  /** Resolves when it is gone, and its owner has been told. */
  kill(): Promise<void> {
    this.#process.kill("SIGKILL");
    return this.#exited;
  }

  /** Ends it; what it was doing is lost. */
  async stop(): Promise<void> {
    this.#isStopping = true;
    if (this.#process.connected) this.#process.disconnect();
    const timer = setTimeout(() => void this.kill(), STOP_MS);
    await this.#exited;
    clearTimeout(timer);
    this.#rejectAll();
  }

  #settle(message: FromGraph): void {
    const pending = this.#pending.get(message.id);
    if (!pending) return;
    if ("answer" in message) pending.resolve(message.answer);
    else {
      this.isMissing ||= message.isMissing === true;
      pending.reject(unavailable(`says: ${message.problem}`));
    }
  }

  #rejectAll(): void {
    for (const pending of [...this.#pending.values()]) pending.reject(unavailable("died"));
  }
}

const unavailable = (what: string): GoaldError =>
  new GoaldError("GOALD_INTERNAL", `The process of the memory index ${what}.`, {
    hint: "Memory goes on with exact search.",
  });
