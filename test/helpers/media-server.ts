/**
 * media-server.ts -- OpenAI's images and transcriptions on loopback, with strict checks; and pictures and recordings to send.
 */
import { deflateSync } from "node:zlib";
import { createAjv } from "#util/schema.ts";
import { type Answer, failure, unauthorized } from "./openai-answers.ts";
import { type ServiceRequest, type ServiceServer, startServiceServer } from "./service-server.ts";

export const MEDIA_KEY = "sk-media-0123456789abcdef";

export interface ImageRequest {
  readonly model: string;
  readonly prompt: string;
  readonly size: string;
  readonly n: 1;
  readonly response_format?: "b64_json";
}
export interface SpeechRequest {
  readonly model: string;
  readonly name: string;
  readonly bytes: Uint8Array;
  readonly language: string | null;
}
export interface MediaServer extends ServiceServer {
  /** Ends in /v1. */
  readonly baseUrl: string;
  readonly images: readonly ImageRequest[];
  readonly recordings: readonly SpeechRequest[];
  readonly violations: readonly string[];
}

const isImageRequest = createAjv({}).compile<ImageRequest>({
  type: "object",
  properties: {
    model: { type: "string", minLength: 1 },
    prompt: { type: "string", minLength: 1, maxLength: 32_000 },
    size: { type: "string", pattern: "^([0-9]+x[0-9]+|auto)$" },
    n: { const: 1 },
    response_format: { enum: ["b64_json"] },
  },
  required: ["model", "prompt", "size", "n"],
  additionalProperties: false,
  // The service rejects response_format for its present models.
  if: { properties: { model: { type: "string", pattern: "^gpt-image" } } },
  // biome-ignore lint/suspicious/noThenProperty: a keyword of JSON Schema.
  then: { not: { required: ["response_format"] } },
});

export interface MediaReplies {
  readonly image?: (request: ImageRequest, server: string) => Answer;
  readonly speech?: (request: SpeechRequest) => Answer;
  /** Answers requests outside of /v1. */
  readonly other?: (request: ServiceRequest) => Answer;
}

export async function startMediaServer(replies: MediaReplies = {}): Promise<MediaServer> {
  const images: ImageRequest[] = [];
  const recordings: SpeechRequest[] = [];
  const violations: string[] = [];
  const violation = (problem: string): Answer => {
    violations.push(problem);
    return failure(400, problem);
  };
  const server: ServiceServer = await startServiceServer(async (request) => {
    const { method, path, headers, body } = request;
    if (replies.other && !path.startsWith("/v1/")) return replies.other(request);
    if (headers.authorization !== `Bearer ${MEDIA_KEY}`) return unauthorized(headers.authorization);
    switch (`${method} ${path}`) {
      case "POST /v1/images/generations": {
        const asked: unknown = JSON.parse(body.toString("utf8"));
        if (!isImageRequest(asked)) return violation(JSON.stringify(isImageRequest.errors));
        images.push(asked);
        return replies.image?.(asked, server.origin) ?? pictureAnswer(png(1024, 1024));
      }
      case "POST /v1/audio/transcriptions": {
        const asked = await readForm(request);
        if (typeof asked === "string") return violation(asked);
        recordings.push(asked);
        return replies.speech?.(asked) ?? { status: 200, body: { text: "hello world" } };
      }
      default:
        return violation(`${method} ${path}`);
    }
  });
  return Object.assign(server, { baseUrl: `${server.origin}/v1`, images, recordings, violations });
}

export const pictureAnswer = (bytes: Uint8Array, more: object = {}): Answer => ({
  status: 200,
  body: { created: 1, data: [{ b64_json: Buffer.from(bytes).toString("base64"), ...more }] },
});

/** Returns the request, or what is wrong with it. */
async function readForm({ headers, body }: ServiceRequest): Promise<SpeechRequest | string> {
  const type = headers["content-type"] ?? "";
  if (!type.startsWith("multipart/form-data; boundary=")) return `content type ${type}`;
  const form = await new Response(new Uint8Array(body), { headers: { "content-type": type } }).formData();
  const strangers = [...form.keys()].filter((name) => !["file", "model", "response_format", "language"].includes(name));
  if (strangers.length > 0) return `unknown fields ${strangers}`;
  const [file, model, format, language] = ["file", "model", "response_format", "language"].map((name) =>
    form.get(name),
  );
  if (typeof file !== "object" || file === null) return "no file";
  if (typeof model !== "string" || format !== "json") return `model ${String(model)}, format ${String(format)}`;
  const bytes = new Uint8Array(await file.arrayBuffer());
  return { model, name: file.name, bytes, language: typeof language === "string" ? language : null };
}

// ---------------------------------------------------------------- pictures

/** Returns a complete grey picture. */
export function png(width: number, height: number): Uint8Array {
  const header = Buffer.alloc(13);
  header.writeUInt32BE(width, 0);
  header.writeUInt32BE(height, 4);
  header.set([8, 0, 0, 0, 0], 8);
  const rows = deflateSync(Buffer.alloc((width + 1) * height, 0));
  const chunks = [chunk("IHDR", header), chunk("IDAT", rows), chunk("IEND", Buffer.alloc(0))];
  return new Uint8Array(Buffer.concat([Buffer.from("89504e470d0a1a0a", "hex"), ...chunks]));
}

/** Returns a chunk with a zero checksum, which no test reads. */
function chunk(type: string, data: Buffer): Buffer {
  const length = Buffer.alloc(4);
  length.writeUInt32BE(data.length);
  return Buffer.concat([length, Buffer.from(type, "latin1"), data, Buffer.alloc(4)]);
}

/** Returns the beginning of a JPEG: an application segment, then the frame. */
export function jpeg(width: number, height: number): Uint8Array {
  const frame = Buffer.from("ffc2001108000000000301220002110103110", "hex");
  frame.writeUInt16BE(height, 5);
  frame.writeUInt16BE(width, 7);
  return new Uint8Array(Buffer.concat([Buffer.from("ffd8ffe000104a46494600010100000100010000", "hex"), frame]));
}

export function webp(kind: "VP8 " | "VP8L" | "VP8X", width: number, height: number): Uint8Array {
  const bytes = Buffer.alloc(40);
  bytes.write("RIFF", 0, "latin1");
  bytes.writeUInt32LE(32, 4);
  bytes.write(`WEBP${kind}`, 8, "latin1");
  if (kind === "VP8 ") {
    bytes.set([0x9d, 0x01, 0x2a], 23);
    bytes.writeUInt16LE(width, 26);
    bytes.writeUInt16LE(height, 28);
  } else if (kind === "VP8L") {
    bytes[20] = 0x2f;
    bytes.writeUInt32LE((width - 1) | ((height - 1) << 14), 21);
  } else {
    bytes.writeUIntLE(width - 1, 24, 3);
    bytes.writeUIntLE(height - 1, 27, 3);
  }
  return new Uint8Array(bytes);
}

/** Returns a second of silence. */
export function wav(): Uint8Array {
  const samples = 8_000;
  const bytes = Buffer.alloc(44 + samples, 0x80);
  bytes.write("RIFF", 0, "latin1");
  bytes.writeUInt32LE(36 + samples, 4);
  bytes.write("WAVEfmt ", 8, "latin1");
  bytes.writeUInt32LE(16, 16);
  bytes.writeUInt16LE(1, 20);
  bytes.writeUInt16LE(1, 22);
  bytes.writeUInt32LE(samples, 24);
  bytes.writeUInt32LE(samples, 28);
  bytes.writeUInt16LE(1, 32);
  bytes.writeUInt16LE(8, 34);
  bytes.write("data", 36, "latin1");
  bytes.writeUInt32LE(samples, 40);
  return new Uint8Array(bytes);
}
