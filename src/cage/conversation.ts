/**
 * conversation.ts -- the host's end of a channel to a caged process that takes turns: the host sends a frame, then the process
 * sends one or several.
 *
 * The host trusts neither length nor order: too long a frame, malformed JSON, or a frame out of turn breaks the conversation.
 */
import { type Duplex, PassThrough, type Readable, type Writable } from "node:stream";
import type { Cage, CagedEnd, CagedProcess } from "./cage.ts";
import { CHANNEL, type Frame, LENGTHS_BYTES, sendFrame } from "./frames.ts";
import { type NodeProgram, nodeCommand } from "./node-program.ts";

export interface FrameLimits {
  /** Both parts of a frame. */
  readonly maxBytes: number;
  /** Longest JSON of a frame, which the host parses in one go. Receives the first characters of the JSON. */
  readonly maxJsonBytes: (start: string) => number;
}

/** So many bytes of a frame tell the limit of its JSON. */
const START_BYTES = 64;
/** Bytes of a next frame that may come together with the end of this one. */
const FIRST_READ_BYTES = 64 * 1024;

export class Conversation {
  readonly #channel: Readable & Writable;
  readonly #limits: FrameLimits;
  #pieces: Buffer[] = [];
  #received = 0;
  #isTheirTurn: boolean;
  #wanted: PromiseWithResolvers<Frame | undefined> | undefined;
  #isClosed = false;
  #problem: Error | undefined;
  readonly #broken = Promise.withResolvers<string>();
  /** Resolves to the reason, in a sentence, when the process breaks the conversation. */
  readonly broken = this.#broken.promise;

  /** `speaksFirst`: the process sends a frame before the host does. */
  constructor(channel: Readable & Writable, limits: FrameLimits, { speaksFirst }: { readonly speaksFirst: boolean }) {
    this.#channel = channel;
    this.#limits = limits;
    this.#isTheirTurn = speaksFirst;
    channel.on("data", (piece: Buffer) => this.#take(piece));
    // A channel that fails is closed afterwards.
    channel.on("error", () => undefined);
    channel.on("close", () => this.close());
  }

  /** Sends a frame without copying `bytes`. The turn passes to the process. */
  send(value: unknown, bytes: Uint8Array): void {
    this.endTurn();
    if (this.#problem || this.#isClosed) return;
    this.#isTheirTurn = true;
    sendFrame(this.#channel, value, bytes);
  }

  /** The next frame of the process; undefined when it has closed the channel. Rejects for a broken conversation. One at a time. */
  next(): Promise<Frame | undefined> {
    if (this.#problem) return Promise.reject(this.#problem);
    if (this.#isClosed) return Promise.resolve(undefined);
    if (this.#wanted) throw new Error("Somebody waits for a frame already.");
    this.#wanted = Promise.withResolvers();
    const { promise } = this.#wanted;
    this.#deliver();
    return promise;
  }

  /** The turn passes to the host: whatever the process sends before the next `send` breaks the conversation. */
  endTurn(): void {
    this.#isTheirTurn = false;
    if (this.#received > 0) this.#break("A frame came out of turn.");
  }

  #take(piece: Buffer): void {
    if (this.#problem) return;
    this.#pieces.push(piece);
    this.#received += piece.length;
    if (!this.#isTheirTurn) this.#break("A frame came out of turn.");
    else if (this.#received > this.#limits.maxBytes + FIRST_READ_BYTES) this.#break("A frame is too long.");
    else this.#deliver();
  }

  #deliver(): void {
    if (!this.#wanted || this.#received < LENGTHS_BYTES) return;
    const head = this.#head(LENGTHS_BYTES);
    const end = LENGTHS_BYTES + head.readUInt32LE(0);
    const length = end + head.readUInt32LE(4);
    const isStarted = this.#received >= Math.min(length, START_BYTES);
    if (length > this.#limits.maxBytes || (isStarted && end > this.#findJsonEnd(length)))
      this.#break("A frame is too long.");
    else if (this.#received >= length) this.#parse(this.#head(this.#received), end, length);
  }

  /** Where the JSON of the first frame must end. */
  #findJsonEnd(length: number): number {
    const start = this.#head(Math.min(length, START_BYTES)).toString("latin1", LENGTHS_BYTES, START_BYTES);
    return LENGTHS_BYTES + this.#limits.maxJsonBytes(start);
  }

  #parse(whole: Buffer, end: number, length: number): void {
    try {
      const value: unknown = JSON.parse(whole.toString("utf8", LENGTHS_BYTES, end));
      this.#keep(whole.subarray(length));
      this.#wanted?.resolve({ value, bytes: whole.subarray(end, length) });
      this.#wanted = undefined;
    } catch {
      this.#break("A frame is not JSON.");
    }
  }

  /** Joins pieces until the first one has `count` bytes. */
  #head(count: number): Buffer {
    const [first] = this.#pieces;
    if (first && first.length >= count) return first;
    const whole = Buffer.concat(this.#pieces);
    this.#keep(whole);
    return whole;
  }

  #keep(rest: Buffer): void {
    this.#pieces = rest.length > 0 ? [rest] : [];
    this.#received = rest.length;
  }

  #break(problem: string): void {
    if (this.#problem) return;
    this.#problem = new Error(problem);
    this.#broken.resolve(problem);
    this.#keep(Buffer.alloc(0));
    this.#wanted?.reject(this.#problem);
    this.#wanted = undefined;
    this.#channel.destroy();
  }

  /** From now on `next` resolves to undefined. */
  close(): void {
    this.#isClosed = true;
    this.#wanted?.resolve(undefined);
    this.#wanted = undefined;
  }
}

/**
 * Runs one of goald's own programs in a cage, and talks with it. Keeps the host alive only while it is held, as at its
 * start.
 */
export class CagedProgram {
  readonly conversation: Conversation;
  readonly ended: Promise<CagedEnd>;
  readonly #process: CagedProcess;
  readonly #channel: Channel;

  constructor(
    cage: Cage,
    program: Omit<NodeProgram, "stdio">,
    limits: FrameLimits,
    turn: { readonly speaksFirst: boolean },
  ) {
    this.#process = cage.spawn(nodeCommand({ ...program, stdio: ["ignore", "ignore", "ignore", "pipe"] }));
    this.#channel = (this.#process.child.stdio?.[CHANNEL] ?? new PassThrough().destroy()) as Channel;
    this.ended = this.#process.ended.finally(() => this.conversation.close());
    this.conversation = new Conversation(this.#channel, limits, turn);
  }

  get pid(): number | undefined {
    return this.#process.child.pid;
  }

  kill(): void {
    this.#process.kill();
  }

  hold(): void {
    this.#process.child.ref();
    this.#channel.ref?.();
  }

  release(): void {
    this.#process.child.unref();
    this.#channel.unref?.();
  }
}

type Channel = Duplex & { ref?(): unknown; unref?(): unknown };
