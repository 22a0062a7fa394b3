/**
 * frames.ts -- messages between the host and a process in a cage: the lengths of two parts, a JSON value, and bytes.
 * The process reads and writes descriptor 3 and waits for it. The host trusts neither length nor content of an answer.
 */
import { readSync, writeSync } from "node:fs";
import type { Writable } from "node:stream";

export interface Frame {
  readonly value: unknown;
  readonly bytes: Buffer;
}

/** Descriptor of the channel in the caged process. */
export const CHANNEL = 3;
export const LENGTHS_BYTES = 8;
/** Holds most frames, so that one read is enough. */
const FIRST_READ_BYTES = 64 * 1024;

/** Sends `bytes` without copying them. */
export function sendFrame(channel: Writable, value: unknown, bytes: Uint8Array): void {
  channel.cork();
  channel.write(encodeHead(value, bytes.byteLength));
  channel.write(bytes);
  channel.uncork();
}

/** In the cage. Blocks until a frame has come; undefined when the host has closed the channel. */
export function readFrame(): Frame | undefined {
  const start = Buffer.allocUnsafeSlow(FIRST_READ_BYTES);
  const count = fill(start, 0, LENGTHS_BYTES);
  if (count === undefined) return undefined;
  const length = frameLength(start);
  if (count >= length) return decodeFrame(start.subarray(0, length));
  const frame = Buffer.allocUnsafeSlow(length);
  start.copy(frame, 0, 0, count);
  return fill(frame, count, length) === undefined ? undefined : decodeFrame(frame);
}

/** In the cage. Blocks until the host has taken the frame. */
export function writeFrame(value: unknown, bytes: Uint8Array): void {
  const frame = Buffer.concat([encodeHead(value, bytes.byteLength), bytes]);
  for (let written = 0; written < frame.length; ) written += writeSync(CHANNEL, frame, written);
}

function encodeHead(value: unknown, byteLength: number): Buffer {
  const json = Buffer.from(JSON.stringify(value));
  const lengths = Buffer.alloc(LENGTHS_BYTES);
  lengths.writeUInt32LE(json.length, 0);
  lengths.writeUInt32LE(byteLength, 4);
  return Buffer.concat([lengths, json]);
}

const frameLength = (head: Buffer): number => LENGTHS_BYTES + head.readUInt32LE(0) + head.readUInt32LE(4);

function decodeFrame(frame: Buffer): Frame {
  const end = LENGTHS_BYTES + frame.readUInt32LE(0);
  return { value: JSON.parse(frame.toString("utf8", LENGTHS_BYTES, end)), bytes: frame.subarray(end) };
}

/** Reads until `needed` bytes are in. Returns how many are in, which may be more; undefined at the end of the channel. */
function fill(bytes: Buffer, from: number, needed: number): number | undefined {
  let filled = from;
  while (filled < needed) {
    const count = readSync(CHANNEL, bytes, filled, bytes.length - filled, null);
    if (count === 0) return undefined;
    filled += count;
  }
  return filled;
}
