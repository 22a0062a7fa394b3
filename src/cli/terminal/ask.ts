/**
 * ask.ts -- lines from a person at a terminal, or from a pipe.
 *
 * One reader for the whole run and a queue of its own: lines that were typed or pasted ahead wait for the
 * next question instead of being lost between two. A question is answered by a line, or by undefined: the
 * person has left, by Ctrl-C or by the end of input. Ctrl-C while nothing is asked is handed on as the
 * signal that it would be without a reader, which holds the terminal in raw mode.
 */
import { createInterface, type Interface } from "node:readline";
import { Writable } from "node:stream";
import { GoaldError } from "#core/errors.ts";

export interface LineInput {
  /** The next line without its end; undefined when the person left. One question at a time. */
  askLine(question: string, signal?: AbortSignal): Promise<string | undefined>;
  /** The same, with nothing of the answer shown. */
  askSecret(question: string, signal?: AbortSignal): Promise<string | undefined>;
  /** True when the last question was left by Ctrl-C. */
  readonly interrupted: boolean;
  /** Forgets lines that were typed ahead: for a question whose answer must come after what it is about was shown. */
  dropTypedAhead(): void;
  /** Gives the terminal back as it was. A question that waits is left. */
  close(): void;
}

export interface LineInputOptions {
  /** Whether lines are edited on a terminal; default: whether both ends are one. */
  readonly isTerminal?: boolean;
  /** Ctrl-C while nothing is asked; default: SIGINT to this process. */
  readonly onInterrupt?: () => void;
}

type Stream<T> = T & { readonly isTTY?: boolean | undefined };

export function openLineInput(
  input: Stream<NodeJS.ReadableStream>,
  output: Stream<NodeJS.WritableStream>,
  options: LineInputOptions = {},
): LineInput {
  const isTerminal = options.isTerminal ?? (input.isTTY === true && output.isTTY === true);
  const onInterrupt = options.onInterrupt ?? (() => process.kill(process.pid, "SIGINT"));
  return new QueuedLines(input, output, isTerminal, onInterrupt);
}

/** A question that waits for its line. */
interface Question {
  readonly isSecret: boolean;
  answer(line: string | undefined): void;
}

class QueuedLines implements LineInput {
  interrupted = false;
  readonly #output: NodeJS.WritableStream;
  readonly #isTerminal: boolean;
  readonly #screen: Screen;
  readonly #reader: Interface;
  readonly #queue: string[] = [];
  #waiting: Question | undefined;
  #hasEnded = false;

  constructor(
    input: NodeJS.ReadableStream,
    output: NodeJS.WritableStream,
    isTerminal: boolean,
    onInterrupt: () => void,
  ) {
    this.#output = output;
    this.#isTerminal = isTerminal;
    this.#screen = new Screen(output);
    // No history: a key that was pasted must not come back with the arrow keys.
    const settings = { input, terminal: isTerminal, historySize: 0, prompt: "", crlfDelay: Number.POSITIVE_INFINITY };
    this.#reader = createInterface({ ...settings, output: this.#screen });
    this.#reader.on("line", (line) => this.#take(line));
    this.#reader.on("close", () => {
      this.#hasEnded = true;
      this.#leave();
    });
    this.#reader.on("SIGINT", () => {
      if (!this.#waiting) return onInterrupt();
      this.interrupted = true;
      this.#dropTyped();
      this.#leave();
    });
  }

  askLine(question: string, signal?: AbortSignal): Promise<string | undefined> {
    return this.#ask(question, false, signal);
  }

  askSecret(question: string, signal?: AbortSignal): Promise<string | undefined> {
    return this.#ask(question, true, signal);
  }

  dropTypedAhead(): void {
    this.#queue.length = 0;
    this.#dropTyped();
  }

  close(): void {
    this.#reader.close();
  }

  async #ask(question: string, isSecret: boolean, signal: AbortSignal | undefined): Promise<string | undefined> {
    if (this.#waiting)
      throw new GoaldError("GOALD_INTERNAL", "A question was asked while another one waits for its answer.");
    signal?.throwIfAborted();
    this.interrupted = false;
    const queued = this.#queue.shift();
    if (queued !== undefined) {
      this.#output.write(`${question}${isSecret ? "" : queued}\n`);
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

  /** The question becomes the reader's prompt, so that editing redraws both; what was typed ahead stays in the line. */
  #show(question: string, isSecret: boolean): void {
    if (!this.#isTerminal || isSecret) this.#output.write(question);
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

  /** The question is over, and the screen is everybody's again. */
  #end(): Question | undefined {
    const question = this.#waiting;
    this.#waiting = undefined;
    this.#screen.isMuted = false;
    this.#reader.setPrompt("");
    // The line's end was muted with it.
    if (question?.isSecret && this.#isTerminal) this.#output.write("\n");
    return question;
  }

  /** What stands in the line when Ctrl-C comes is not the beginning of the next answer. */
  #dropTyped(): void {
    this.#screen.isMuted = true;
    this.#reader.write(null, { ctrl: true, name: "e" });
    this.#reader.write(null, { ctrl: true, name: "u" });
  }
}

/** The terminal as the reader sees it; muted while a secret is typed. */
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
