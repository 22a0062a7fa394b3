/**
 * line-input.ts -- reads lines from a person at a terminal, or from a pipe. One reader serves the whole run. Lines that
 * arrive while nothing is asked wait in a queue for the next question. A question resolves to a line, or to undefined
 * when the person leaves by Ctrl-C or the end of input. Ctrl-C while nothing is asked raises the usual signal, which
 * raw mode would otherwise swallow.
 */
import { createInterface, type Interface } from "node:readline";
import { Writable } from "node:stream";
import type { ReadStream } from "node:tty";
import { GoaldError } from "#core/errors.ts";
import { printable } from "./print.ts";

export type LineInput = Readonly<QueuedLines>;

type Stream<T> = T & { readonly isTTY?: boolean | undefined };

/** Lines are edited when both streams are terminals. */
export function openLineInput(input: Stream<NodeJS.ReadableStream>, output: Stream<NodeJS.WritableStream>): LineInput {
  keepRawModeErrorsQuiet(input);
  return new QueuedLines(input, output, input.isTTY === true && output.isTTY === true);
}

/** Readline resets the mode of a terminal that is gone, from an event, where the error would end the process. */
function keepRawModeErrorsQuiet(input: Stream<NodeJS.ReadableStream> & Partial<Pick<ReadStream, "setRawMode">>): void {
  const setRawMode = input.setRawMode?.bind(input);
  if (!setRawMode) return;
  input.setRawMode = (mode) => {
    try {
      return setRawMode(mode);
    } catch {
      return input as ReadStream;
    }
  };
}

interface Question {
  readonly isSecret: boolean;
  answer(line: string | undefined): void;
}

class QueuedLines {
  /** True when the last question ended by Ctrl-C. */
  interrupted = false;
  /** True when the person began to type the last answer before its question was shown. */
  wasBegunEarly = false;
  readonly #output: NodeJS.WritableStream;
  readonly #isTerminal: boolean;
  readonly #screen: Screen;
  readonly #reader: Interface;
  readonly #queue: string[] = [];
  readonly #keys: Stream<NodeJS.ReadableStream>;
  #waiting: Question | undefined;
  #hasEnded = false;
  #onTyped: (() => void) | undefined;
  readonly #onKey = (): void => {
    if (!this.#waiting) this.#onTyped?.();
  };

  constructor(input: NodeJS.ReadableStream, output: NodeJS.WritableStream, isTerminal: boolean) {
    this.#output = output;
    this.#keys = input;
    this.#isTerminal = isTerminal;
    this.#screen = new Screen(output);
    // Without history, the arrow keys cannot bring back a pasted key.
    const settings = { input, terminal: isTerminal, historySize: 0, prompt: "", crlfDelay: Number.POSITIVE_INFINITY };
    this.#reader = createInterface({ ...settings, output: this.#screen });
    this.#reader.on("line", (line) => this.#take(line));
    this.#reader.on("close", () => {
      this.#hasEnded = true;
      this.#leave();
    });
    this.#reader.on("SIGINT", () => {
      if (!this.#waiting) return void process.kill(process.pid, "SIGINT");
      this.interrupted = true;
      this.#dropTyped();
      this.#leave();
    });
  }

  /** The next line without its end; undefined when the person leaves. One question at a time. */
  askLine(question: string, signal?: AbortSignal): Promise<string | undefined> {
    return this.#ask(question, false, signal);
  }

  /** The same without echo. */
  askSecret(question: string, signal?: AbortSignal): Promise<string | undefined> {
    return this.#ask(question, true, signal);
  }

  /** Takes the lines out of the queue, so that none of them answers a question that the person has not seen. */
  async takeTypedAhead(): Promise<readonly string[]> {
    // Two turns of the event loop read what has already reached this process.
    for (let turn = 0; turn < 2; turn++) await new Promise((resolve) => setImmediate(resolve));
    return this.#queue.splice(0);
  }

  get typed(): string {
    return this.#reader.line;
  }

  /**
   * From now on what is typed while nothing is asked does not appear by itself: `onTyped` is called after each key, to show
   * it. Undefined: it appears where the cursor is.
   */
  watchTyping(onTyped: (() => void) | undefined): void {
    if (!this.#isTerminal) return;
    this.#keys.off("keypress", this.#onKey);
    // The reader listens already: it has taken the key when this is called.
    if (onTyped) this.#keys.on("keypress", this.#onKey);
    this.#onTyped = onTyped;
    if (!this.#waiting) this.#screen.isMuted = onTyped !== undefined;
  }

  /** Restores the terminal. An open question resolves to undefined. */
  close(): void {
    this.watchTyping(undefined);
    this.#reader.close();
  }

  async #ask(asked: string, isSecret: boolean, signal: AbortSignal | undefined): Promise<string | undefined> {
    if (this.#waiting) throw new GoaldError("GOALD_INTERNAL", "A question was asked while another one is open.");
    signal?.throwIfAborted();
    this.interrupted = false;
    const question = printable(asked);
    const queued = this.#queue.shift();
    this.wasBegunEarly = queued !== undefined || (this.#isTerminal && this.#reader.line !== "");
    if (queued !== undefined) {
      this.#output.write(`${question}${isSecret ? "" : printable(queued)}\n`);
      return queued;
    }
    if (this.#hasEnded) return undefined;
    return this.#wait(question, isSecret, signal);
  }

  #wait(question: string, isSecret: boolean, signal: AbortSignal | undefined): Promise<string | undefined> {
    return new Promise((resolve, reject) => {
      const onAbort = (): void => {
        this.#end();
        reject(signal?.reason);
      };
      const answer = (line: string | undefined): void => {
        signal?.removeEventListener("abort", onAbort);
        resolve(line);
      };
      signal?.addEventListener("abort", onAbort, { once: true });
      this.#waiting = { isSecret, answer };
      this.#show(question, isSecret);
    });
  }

  /** Makes the question the reader's prompt, so that editing redraws both. A half-typed line stays. */
  #show(question: string, isSecret: boolean): void {
    if (!this.#isTerminal || isSecret) this.#output.write(question);
    // A line that was typed unseen takes no rows of the screen yet, which the reader cannot know.
    if (this.#screen.isMuted) Object.assign(this.#reader, { prevRows: 0 });
    this.#screen.isMuted = isSecret;
    this.#reader.setPrompt(this.#isTerminal && !isSecret ? question : "");
    if (this.#isTerminal) this.#reader.prompt(true);
  }

  #take(line: string): void {
    const question = this.#end();
    if (question) question.answer(line);
    else this.#queue.push(line);
  }

  #leave(): void {
    const question = this.#waiting;
    if (question && this.#isTerminal && !question.isSecret) this.#output.write("\n");
    this.#end()?.answer(undefined);
  }

  #end(): Question | undefined {
    const question = this.#waiting;
    this.#waiting = undefined;
    this.#screen.isMuted = this.#onTyped !== undefined;
    this.#reader.setPrompt("");
    // The echo of Enter was muted.
    if (question?.isSecret && this.#isTerminal) this.#output.write("\n");
    return question;
  }

  /** Clears the half-typed line, so that it does not start the next answer. */
  #dropTyped(): void {
    this.#screen.isMuted = true;
    this.#reader.write(null, { ctrl: true, name: "e" });
    this.#reader.write(null, { ctrl: true, name: "u" });
  }
}

/** The reader's output, muted while a secret is typed. */
class Screen extends Writable {
  isMuted = false;
  readonly #output: NodeJS.WritableStream & { readonly columns?: number };

  constructor(output: NodeJS.WritableStream) {
    super({ decodeStrings: false });
    this.#output = output;
  }

  get columns(): number {
    return this.#output.columns ?? 80;
  }

  override _write(chunk: string, _encoding: BufferEncoding, done: () => void): void {
    if (!this.isMuted) this.#output.write(chunk);
    done();
  }
}
