/** _picture.ts -- reads, writes and resizes PNG pictures of 8-bit RGB whose rows have no filter. */
import { crc32, deflateSync, inflateSync } from "node:zlib";
import type { CommandContext } from "#core/command.ts";
import { method, observe } from "./_service.ts";

export interface Picture {
  readonly width: number;
  readonly height: number;
  /** Three bytes a pixel. */
  readonly pixels: Uint8Array;
}

const SIGNATURE = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);

export function writePng({ width, height, pixels }: Picture): Uint8Array {
  const rows = Array.from({ length: height }, (_, y) => [0, ...pixels.subarray(3 * width * y, 3 * width * (y + 1))]);
  return pngOf(width, height, 2, Buffer.from(rows.flat()));
}

/** `colour`: 0 is grey with one byte a pixel, 2 is RGB. Each row begins with the number of its filter. */
export function pngOf(width: number, height: number, colour: 0 | 2, rows: Buffer): Uint8Array {
  const header = Buffer.alloc(13);
  header.writeUInt32BE(width, 0);
  header.writeUInt32BE(height, 4);
  header.set([8, colour, 0, 0, 0], 8);
  const chunks = [chunk("IHDR", header), chunk("IDAT", deflateSync(rows)), chunk("IEND", Buffer.alloc(0))];
  return new Uint8Array(Buffer.concat([SIGNATURE, ...chunks]));
}

function chunk(type: string, data: Buffer): Buffer {
  const typed = Buffer.concat([Buffer.from(type, "latin1"), data]);
  const [length, sum] = [Buffer.alloc(4), Buffer.alloc(4)];
  length.writeUInt32BE(data.length);
  sum.writeUInt32BE(crc32(typed));
  return Buffer.concat([length, typed, sum]);
}

export function readPng(bytes: Uint8Array): Picture {
  const file = Buffer.from(bytes);
  if (!file.subarray(0, 8).equals(SIGNATURE)) throw new Error("the file is not a PNG picture");
  const [width, height] = [file.readUInt32BE(16), file.readUInt32BE(20)];
  const data: Buffer[] = [];
  for (let at = 8; at < file.length; at += 12 + file.readUInt32BE(at))
    if (file.toString("latin1", at + 4, at + 8) === "IDAT")
      data.push(file.subarray(at + 8, at + 8 + file.readUInt32BE(at)));
  const raw = inflateSync(Buffer.concat(data));
  const rows = Array.from({ length: height }, (_, y) => [
    ...raw.subarray((3 * width + 1) * y + 1, (3 * width + 1) * (y + 1)),
  ]);
  return { width, height, pixels: Uint8Array.from(rows.flat()) };
}

/** Each pixel of the result is the one that `from` names. */
export function redraw(
  picture: Picture,
  width: number,
  height: number,
  from: (x: number, y: number) => [number, number],
): Picture {
  const pixels = new Uint8Array(3 * width * height);
  for (let y = 0; y < height; y++)
    for (let x = 0; x < width; x++) {
      const [left, top] = from(x, y);
      const at = 3 * (top * picture.width + left);
      pixels.set(picture.pixels.subarray(at, at + 3), 3 * (y * width + x));
    }
  return { width, height, pixels };
}

/** A method that makes another picture of the one whose path is its argument `image`. */
export const redrawing = (
  words: Parameters<typeof method>[0],
  draw: (old: Picture, numbers: Readonly<Record<string, number>>) => Picture,
) => ({
  ...method({ ...words, returns: { type: "string", description: "path of the picture" } }),
  annotations: { readOnly: false, destructive: false, idempotent: true, openWorld: false },
  effect: "idempotent",
  async run(
    { image, ...numbers }: { readonly image: string } & Readonly<Record<string, number>>,
    { workspace, callId }: CommandContext,
  ) {
    const path = `pictures/${callId}.png`;
    await workspace.write(path, writePng(draw(readPng(await workspace.read(image)), numbers)));
    return { ...observe(path, [path]), source: "workspace" };
  },
});
