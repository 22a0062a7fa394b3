/** image-format.ts -- what a picture is, told from its own bytes: PNG, JPEG or WebP, and how large. */

export interface ImageFacts {
  readonly format: "png" | "jpeg" | "webp";
  readonly width: number;
  readonly height: number;
}

/** undefined for anything else, and for a picture whose size cannot be read or is none. */
export function readImageFacts(bytes: Uint8Array): ImageFacts | undefined {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  try {
    const facts = readPng(view) ?? readJpeg(view) ?? readWebp(view);
    return facts && facts.width > 0 && facts.height > 0 ? facts : undefined;
  } catch (error) {
    // It ended where its size should stand.
    if (Error.isError(error) && error.name === "RangeError") return undefined;
    throw error;
  }
}

/** Signature, then the header as the first chunk. */
function readPng(view: DataView): ImageFacts | undefined {
  if (view.getUint32(0) !== 0x89504e47 || view.getUint32(4) !== 0x0d0a1a0a || textAt(view, 12) !== "IHDR")
    return undefined;
  return { format: "png", width: view.getUint32(16), height: view.getUint32(20) };
}

/** Segments, each with its length, until the one that begins the frame. */
function readJpeg(view: DataView): ImageFacts | undefined {
  if (view.getUint16(0) !== 0xffd8) return undefined;
  for (let at = 2; ; ) {
    if (view.getUint8(at) !== 0xff) return undefined;
    const marker = view.getUint8(at + 1);
    if (isFrame(marker)) return { format: "jpeg", width: view.getUint16(at + 7), height: view.getUint16(at + 5) };
    // Bytes that fill up, and marks without a length.
    if (marker === 0xff) at += 1;
    else if (marker === 0x01 || (marker >= 0xd0 && marker <= 0xd8)) at += 2;
    else at += 2 + Math.max(2, view.getUint16(at + 2));
  }
}

/** SOF0 to SOF15 but for the tables among them. */
const isFrame = (marker: number): boolean =>
  marker >= 0xc0 && marker <= 0xcf && marker !== 0xc4 && marker !== 0xc8 && marker !== 0xcc;

/** A RIFF file with one of three kinds of first chunk. */
function readWebp(view: DataView): ImageFacts | undefined {
  if (textAt(view, 0) !== "RIFF" || textAt(view, 8) !== "WEBP") return undefined;
  switch (textAt(view, 12)) {
    case "VP8 ":
      return webp(view.getUint16(26, true) & 0x3fff, view.getUint16(28, true) & 0x3fff);
    case "VP8L": {
      const packed = view.getUint32(21, true);
      return webp((packed & 0x3fff) + 1, ((packed >>> 14) & 0x3fff) + 1);
    }
    case "VP8X":
      return webp((view.getUint32(24, true) & 0xffffff) + 1, (view.getUint32(26, true) >>> 8) + 1);
    default:
      return undefined;
  }
}

const webp = (width: number, height: number): ImageFacts => ({ format: "webp", width, height });

const textAt = (view: DataView, at: number): string => String.fromCharCode(...bytesAt(view, at));
const bytesAt = (view: DataView, at: number): readonly number[] => [0, 1, 2, 3].map((next) => view.getUint8(at + next));
