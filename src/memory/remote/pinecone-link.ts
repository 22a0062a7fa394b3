/** pinecone-link.ts -- what the vectors of one namespace need of the connection to Pinecone, and a row in the form that it takes. */
import type { Clock } from "#core/ports/clock.ts";
import type { MemoryRow, RemoteRow } from "#core/ports/memory-row.ts";
import type { Match, Progress } from "./pinecone-answers.ts";
import type { PineconeRecord } from "./pinecone-client.ts";

/** Who has something to send. */
export interface Sender {
  /** True when nothing is left to do. */
  send(): Promise<boolean>;
}

/** The shared half: the connection of all namespaces, which knows whether Pinecone can be had. */
export interface PineconeLink {
  /** Undefined when it cannot be had now, or takes no vectors of this length. */
  query(
    namespace: string,
    dimensions: number,
    ...query: readonly [vector: readonly number[], count: number, embedder: string]
  ): Promise<{ readonly matches: readonly Match[]; readonly progress: Progress } | undefined>;
  /** Undefined as above; "refused": it does not take these, whenever it is asked. */
  upsert(
    namespace: string,
    records: readonly PineconeRecord[],
  ): Promise<{ readonly progress: Progress } | "refused" | undefined>;
  remove(namespace: string, ids: readonly string[]): Promise<boolean>;
  /** Records in a namespace at the start; undefined: not known yet, or no vectors of this length. */
  countAtStart(namespace: string, dimensions: number): number | undefined;
  /** There is something to send. */
  wake(index: Sender): void;
  readonly journal: {
    read(namespace: string): Promise<readonly RemoteRow[]>;
    save(namespace: string, rows: readonly RemoteRow[], gone: readonly string[]): Promise<void>;
  };
  readonly clock: Pick<Clock, "now">;
}

/** Of a row that Pinecone is not known to show. */
export interface Waiting {
  readonly vector: Float32Array;
  /** When Pinecone took it; null: it has not. "earlier": another process saw that, and its namespace was not looked at yet. */
  takenAtMs: number | "earlier" | null;
  progress: Progress;
  isRefused: boolean;
}

/** One of a lot on its way. */
export interface Sending {
  readonly slot: number;
  readonly waiting: Waiting;
  readonly record: PineconeRecord;
}

export function recordOf(
  { id, seq, kind, trust, at, text }: Pick<MemoryRow, "id" | "seq" | "kind" | "trust" | "at" | "text">,
  vector: Float32Array,
  embedder: string,
): PineconeRecord {
  const metadata = { kind, trust, seq, ts: Date.parse(at) || 0, embedder, text: headOf(text) };
  return { id, values: Array.from(vector, rounded), metadata };
}

/** Of 40 KB that metadata may have. */
const MAX_TEXT_BYTES = 8_192;

/** Seven digits are what 32 bits hold; more only make requests longer. */
export const rounded = (component: number): number => Number(component.toPrecision(7));

const headOf = (text: string): string => {
  const bytes = Buffer.from(text);
  return bytes.length <= MAX_TEXT_BYTES
    ? text
    : bytes
        .subarray(0, MAX_TEXT_BYTES)
        .toString()
        .replace(/\uFFFD+$/, "");
};
