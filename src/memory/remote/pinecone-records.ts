/** pinecone-records.ts -- memory rows in the form that Pinecone stores. */
import type { MemoryRow } from "#core/ports/memory.ts";

export interface PineconeRecord {
  readonly id: string;
  readonly values: number[];
  readonly metadata: Record<string, string | number>;
}

/** Pinecone takes 40 KB of metadata. */
const MAX_TEXT_BYTES = 8_192;

export function createRecord(
  { id, seq, kind, trust, at, text }: Pick<MemoryRow, "id" | "seq" | "kind" | "trust" | "at" | "text">,
  vector: Float32Array,
  embedder: string,
): PineconeRecord {
  const metadata = { kind, trust, seq, ts: Date.parse(at) || 0, embedder, text: cutText(text) };
  return { id, values: Array.from(vector, roundComponent), metadata };
}

/** 32-bit floats hold seven digits; more digits only lengthen requests. */
export const roundComponent = (component: number): number => Number(component.toPrecision(7));

function cutText(text: string): string {
  const bytes = Buffer.from(text);
  if (bytes.length <= MAX_TEXT_BYTES) return text;
  const head = bytes.subarray(0, MAX_TEXT_BYTES).toString();
  return head.replace(/\uFFFD+$/, "");
}
