/**
 * graph-child.ts -- starts the process of a graph and sends it requests. When a request exceeds its time limit or the
 * process dies, the request is rejected and the process is gone for good; the owner starts another. The process never
 * keeps the daemon alive. It gets no environment, and no input or output but the channel.
 */
import { type ChildProcess, fork } from "node:child_process";
import { extname } from "node:path";
import { GoaldError } from "#core/errors.ts";
import type { FromGraph, GraphHandlers, ToGraph } from "./graph-process.ts";

/** `.ts` in a checkout, `.js` in the published package, as this file. */
const PROGRAM = new URL(`./graph-process${extname(import.meta.url)}`, import.meta.url);
/** Further requests are rejected at once. */
const MAX_PENDING = 32;
const STOP_MS = 2_000;
/** A batch of changes takes 0.1 s. */
const LIMITS_MS: Readonly<Record<keyof GraphHandlers, number>> = {
  open: 120_000,
  change: 60_000,
  search: 250,
};

export class GraphChild {
  readonly #process: ChildProcess;
  readonly #pending = new Map<number, PromiseWithResolvers<unknown>>();
  readonly #exited: Promise<void>;
  #lastId = 0;
  #isStopping = false;
  /** The library is missing or not built for this machine, so another start would fail the same way. */
  isMissing = false;

  /** Calls `onDeath` when the process ends without `stop`. */
  constructor(onDeath: () => void) {
    this.#process = fork(PROGRAM, [], {
      cwd: "/",
      env: {},
      execArgv: ["--disable-sigusr1"],
      serialization: "advanced",
      stdio: ["ignore", "ignore", "ignore", "ipc"],
    });
    this.#process.unref();
    this.#process.channel?.unref();
    this.#process.on("message", (message: FromGraph) => this.#settle(message));
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#exited = promise;
    this.#process.once("exit", () => resolve());
    // A process that could not be started emits no exit.
    this.#process.on("error", () => resolve());
    void promise.then(() => {
      this.#process.kill("SIGKILL");
      this.#rejectAll();
      if (!this.#isStopping) onDeath();
    });
  }

  get pid(): number | undefined {
    return this.#process.pid;
  }

  /** Rejects when the process is busy, fails, dies or exceeds `limitMs`. A late answer kills it, except to a search. */
  async request<Name extends keyof GraphHandlers>(
    name: Name,
    content: Parameters<GraphHandlers[Name]>[0],
    limitMs: number = LIMITS_MS[name],
  ): Promise<Awaited<ReturnType<GraphHandlers[Name]>>> {
    if (!this.#process.connected) throw unavailable("is gone");
    if (this.#pending.size >= MAX_PENDING) throw unavailable("is busy");
    const id = ++this.#lastId;
    const pending = Promise.withResolvers<unknown>();
    const timer = setTimeout(() => {
      pending.reject(unavailable(`did not answer in ${limitMs} ms`));
      if (name !== "search") void this.kill();
    }, limitMs);
    this.#pending.set(id, pending);
    this.#process.channel?.ref();
    try {
      const message: ToGraph = { id, name, request: content };
      this.#process.send(message, (error) => {
        if (error) pending.reject(unavailable(error.message));
      });
      return (await pending.promise) as Awaited<ReturnType<GraphHandlers[Name]>>;
    } finally {
      clearTimeout(timer);
      this.#pending.delete(id);
      if (this.#pending.size === 0) this.#process.channel?.unref();
    }
  }

  /** Resolves when the process is gone and `onDeath` was called. */
  kill(): Promise<void> {
    this.#process.kill("SIGKILL");
    return this.#exited;
  }

  /** Ends the process; unfinished work is lost. */
  async stop(): Promise<void> {
    this.#isStopping = true;
    if (this.#process.connected) this.#process.disconnect();
    const timer = setTimeout(() => void this.kill(), STOP_MS);
    await this.#exited;
    clearTimeout(timer);
  }

  #settle(message: FromGraph): void {
    const pending = this.#pending.get(message.id);
    if (!pending) return;
    if ("answer" in message) pending.resolve(message.answer);
    else {
      this.isMissing ||= message.isMissing;
      pending.reject(unavailable(`failed: ${message.problem}`));
    }
  }

  #rejectAll(): void {
    for (const pending of this.#pending.values()) pending.reject(unavailable("died"));
  }
}

const unavailable = (what: string): GoaldError =>
  new GoaldError("GOALD_INTERNAL", `The process of the memory index ${what}.`, {
    hint: "Memory uses exact search instead.",
  });
