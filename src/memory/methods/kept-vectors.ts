/**
 * kept-vectors.ts -- keeps the vectors of methods that cost something, between searches and between processes.
 *
 * With 1,000 methods a server's vectors take about eleven requests and 45,000 tokens, which the agent that searches first
 * pays. A component is one byte, so that they fit into a file of 2 MB; a search before the restart and one after it compare the
 * same numbers.
 */
import { hash } from "node:crypto";
import { fromBytes, toBytes } from "../vectors/unit-vector.ts";

/** A file that may be lost at any time. */
export interface VectorCache {
  read(): Promise<unknown>;
  write(content: object): Promise<void>;
}

export class KeptVectors {
  readonly #cache: VectorCache | undefined;
  /** By hash of the text, all of the embedder `#embedder`. */
  #vectors = new Map<string, Int8Array>();
  #embedder: string | undefined;
  #isChanged = false;

  constructor(cache: VectorCache | undefined) {
    this.#cache = cache;
  }

  /** Drops the vectors of other embedders. Call it before `get`. */
  async open(embedder: string): Promise<void> {
    if (embedder === this.#embedder) return;
    this.#embedder = embedder;
    this.#vectors = readVectors(await this.#cache?.read(), embedder);
    this.#isChanged = false;
  }

  get(text: string): Float32Array | undefined {
    const bytes = this.#vectors.get(hashOfText(text));
    return bytes && fromBytes(bytes);
  }

  has(text: string): boolean {
    return this.#vectors.has(hashOfText(text));
  }

  set(text: string, vector: Float32Array): void {
    this.#vectors.set(hashOfText(text), toBytes(vector));
    this.#isChanged = true;
  }

  /** Writes the vectors of these texts, if there are new ones. */
  async save(texts: Iterable<string>): Promise<void> {
    if (!this.#isChanged || !this.#cache) return;
    this.#isChanged = false;
    const kept = new Map(
      Iterator.from(texts).flatMap((text) => {
        const key = hashOfText(text);
        const bytes = this.#vectors.get(key);
        return bytes ? [[key, Buffer.from(bytes.buffer).toString("base64")] as const] : [];
      }),
    );
    await this.#cache.write({ embedder: this.#embedder, vectors: Object.fromEntries(kept) });
  }
}

const hashOfText = (text: string): string => hash("sha256", text, "base64url");

/** Returns nothing for a file of another embedder, or of another form. */
function readVectors(content: unknown, embedder: string): Map<string, Int8Array> {
  const { embedder: madeBy, vectors } = (content ?? {}) as { readonly embedder?: unknown; readonly vectors?: unknown };
  const found = new Map<string, Int8Array>();
  if (madeBy !== embedder || typeof vectors !== "object" || vectors === null) return found;
  let dimensions: number | undefined;
  for (const [key, text] of Object.entries(vectors)) {
    const bytes = typeof text === "string" ? Int8Array.from(Buffer.from(text, "base64")) : new Int8Array(0);
    dimensions ??= bytes.length;
    if (bytes.length === dimensions && bytes.some((component) => component !== 0)) found.set(key, bytes);
  }
  return found;
}
