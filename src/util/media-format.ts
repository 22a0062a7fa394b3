/** media-format.ts -- what bytes are: images (with their size) and recordings by their first bytes, binary content, UTF-8 text. */
import { orUndefined } from "#core/errors.ts";

interface ImageFacts {
  readonly format: "png" | "jpeg" | "webp" | "gif";
  readonly width: number;
  readonly height: number;
}

/** Returns undefined for other formats, and for an image whose size is unreadable or zero. */
export function readImageFacts(bytes: Uint8Array): ImageFacts | undefined {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  try {
    const facts = readPng(view) ?? readJpeg(view) ?? readWebp(view) ?? readGif(view);
    return facts && facts.width > 0 && facts.height > 0 ? facts : undefined;
  } catch (error) {
    // The bytes end before the size.
    if (Error.isError(error) && error.name === "RangeError") return undefined;
    throw error;
  }
}

/** PNG has a signature, then the header as its first chunk. */
function readPng(view: DataView): ImageFacts | undefined {
  if (view.getUint32(0) !== 0x89504e47 || view.getUint32(4) !== 0x0d0a1a0a || textAt(view, 12) !== "IHDR")
    return undefined;
  return { format: "png", width: view.getUint32(16), height: view.getUint32(20) };
}

/** JPEG has segments with their lengths; the one that begins the frame holds the size. */
function readJpeg(view: DataView): ImageFacts | undefined {
  if (view.getUint16(0) !== 0xffd8) return undefined;
  for (let at = 2; ; ) {
    if (view.getUint8(at) !== 0xff) return undefined;
    const marker = view.getUint8(at + 1);
    if (isFrame(marker)) return { format: "jpeg", width: view.getUint16(at + 7), height: view.getUint16(at + 5) };
    // Padding bytes, and markers without a length.
    if (marker === 0xff) at += 1;
    else if (marker === 0x01 || (marker >= 0xd0 && marker <= 0xd8)) at += 2;
    else at += 2 + Math.max(2, view.getUint16(at + 2));
  }
}

/** SOF0 to SOF15, without the three markers among them that begin tables. */
const isFrame = (marker: number): boolean =>
  marker >= 0xc0 && marker <= 0xcf && marker !== 0xc4 && marker !== 0xc8 && marker !== 0xcc;

/** WebP is a RIFF file whose first chunk has one of three kinds. */
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

/** GIF has its version in the signature, then the size of its canvas. */
function readGif(view: DataView): ImageFacts | undefined {
  if (textAt(view, 0) !== "GIF8" || !/^[79]a/.test(textAt(view, 4))) return undefined;
  return { format: "gif", width: view.getUint16(6, true), height: view.getUint16(8, true) };
}

const textAt = (view: DataView, at: number): string =>
  String.fromCharCode(...[0, 1, 2, 3].map((next) => view.getUint8(at + next)));

/** Named by the file extension that speech services expect. */
type AudioFormat = "mp3" | "m4a" | "wav" | "webm" | "ogg" | "flac";

export function readAudioFormat(bytes: Uint8Array): AudioFormat | undefined {
  const text = (at: number, length: number): string => String.fromCharCode(...bytes.subarray(at, at + length));
  if (text(0, 4) === "RIFF" && text(8, 4) === "WAVE") return "wav";
  if (text(4, 4) === "ftyp") return "m4a";
  if (text(0, 4) === "OggS") return "ogg";
  if (text(0, 4) === "fLaC") return "flac";
  if (text(0, 4) === "\u001aE\u00df\u00a3") return "webm";
  if (text(0, 3) === "ID3") return "mp3";
  return isMp3Frame(bytes) ? "mp3" : undefined;
}

const LAYER_3 = 1;
/** Eleven set bits, then a valid version, bit rate and sampling rate. Other layers are rare, and UTF-16 looks like one. */
function isMp3Frame([first = 0, second = 0, third = 0]: Uint8Array): boolean {
  const [version, layer] = [(second >> 3) & 3, (second >> 1) & 3];
  const [bitRate, samplingRate] = [third >> 4, (third >> 2) & 3];
  const isSync = first === 0xff && second >> 5 === 7;
  return isSync && version !== 1 && layer === LAYER_3 && bitRate !== 0 && bitRate !== 15 && samplingRate !== 3;
}

/** A NUL byte in this many first bytes marks a binary file, as in git. */
const BINARY_BYTES = 8000;
export const isBinary = (content: Uint8Array): boolean => content.subarray(0, BINARY_BYTES).includes(0);

/** Returns undefined for bytes that are not UTF-8. Keeps a byte order mark, so that encoding the text gives the bytes again. */
export const decodeUtf8 = (bytes: Uint8Array): string | undefined =>
  orUndefined(() => new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes));
