/**
 * ingest-plan.ts -- plans the memory changes for a text that is read again: pieces to add, to replace and to retire. Pure.
 *
 * A piece is identified by a hash of its source and its text, so unchanged pieces stay. A changed piece supersedes the most
 * similar old one, so that both are never recalled together.
 */
import { createHash } from "node:crypto";
import { basename } from "node:path";
import type { MemoryChange, MemoryRow, Trust } from "#core/ports/memory.ts";
import { webSource } from "#core/provenance.ts";
import { oneLine } from "#core/text.ts";
import { chunkText } from "#util/chunk-text.ts";
import { clean } from "#util/outside-text.ts";

export interface IngestSource {
  /** Absolute path or address. The same text from another source is another piece. */
  readonly name: string;
  readonly text: string;
  readonly format: "markdown" | "plain";
  readonly trust: Trust;
}

export type KnownPiece = Pick<MemoryRow, "id" | "key" | "text">;

/** The pieces of a source in memory. */
export interface KnownSource {
  /** Live rows. */
  readonly pieces: readonly KnownPiece[];
  /** Keys of rows that a person forgot or corrected: never added again. */
  readonly settled: ReadonlySet<string>;
}

export interface IngestPlan {
  readonly changes: readonly MemoryChange[];
  readonly added: number;
  readonly changed: number;
  readonly removed: number;
  readonly unchanged: number;
}

/** Longest piece, headings included. */
const MAX_CHARS = 1_000;
const OVERLAP_CHARS = 100;
const HEAD_CHARS = 119;
const TEXT_CHARS = MAX_CHARS - HEAD_CHARS - 1;
/** Share of common words from which a new piece counts as a changed version of an old one. */
const ALIKE = 0.3;
/** Above this number of comparisons, pieces are added and retired without pairing. */
const MAX_COMPARISONS = 250_000;
const IMPORTANCE = { file: 0.4, web: 0.3 } as const;

export function planSource(source: IngestSource, { pieces, settled }: KnownSource): IngestPlan {
  const texts = new Map(piecesOf(source).map((text) => [keyOf(source.name, text), text]));
  const here = new Set([...pieces.map(({ key }) => key), ...settled]);
  const gone = pieces.filter(({ key }) => key === null || !texts.has(key));
  const fresh = [...texts].filter(([key]) => !here.has(key)).map(([key, text]) => ({ key, text }));
  const pairs = pairUp(fresh, gone);
  const outside = source.trust === "web" ? { outside: [webSource(source.name)] } : {};
  const content = { kind: "file_chunk", trust: source.trust, source: source.name, ...outside } as const;
  const importance = source.trust === "web" ? IMPORTANCE.web : IMPORTANCE.file;
  const adds = fresh.map(({ key, text }): MemoryChange => {
    const supersedes = pairs.get(key);
    return { op: "add", ...content, importance, text, key, ...(supersedes === undefined ? {} : { supersedes }) };
  });
  const superseded = new Set(pairs.values());
  const removes = gone.filter(({ id }) => !superseded.has(id)).map(retire);
  return {
    changes: [...adds, ...removes],
    added: fresh.length - pairs.size,
    changed: pairs.size,
    removed: removes.length,
    unchanged: texts.size - fresh.length,
  };
}

/** For pieces whose source no longer exists. */
export const retire = ({ id }: Pick<KnownPiece, "id">): MemoryChange => ({ op: "forget", id, by: "source" });

const keyOf = (source: string, text: string): string =>
  createHash("sha256")
    .update(JSON.stringify([source, text]))
    .digest("hex");

/** Each piece begins with its file's name and headings, so that it is found by them and readable alone. */
export function piecesOf({ name, text, format }: Pick<IngestSource, "name" | "text" | "format">): readonly string[] {
  const whole = clean(text.replace(/^\uFEFF/, "").replaceAll("\r\n", "\n"));
  const title = /^https?:\/\//.test(name) ? name.replace(/^https?:\/\//, "") : basename(name);
  return chunkText(whole, { maxChars: TEXT_CHARS, overlapChars: OVERLAP_CHARS, format })
    .filter((chunk) => chunk.text.trim() !== "")
    .map(({ text: words, headings, lead }) => {
      const head = oneLine(clean([title, ...headings].join(" > ")), HEAD_CHARS);
      const said = words.trim();
      return head.length + 1 + lead.length + said.length <= MAX_CHARS ? `${head}\n${lead}${said}` : `${head}\n${said}`;
    });
}

interface Fresh {
  readonly key: string;
  readonly text: string;
}

/** Maps the key of a new piece to the id of the old piece that it supersedes: most similar pairs first, each piece once. */
function pairUp(fresh: readonly Fresh[], gone: readonly KnownPiece[]): ReadonlyMap<string, string> {
  const pairs = new Map<string, string>();
  if (fresh.length * gone.length > MAX_COMPARISONS) return pairs;
  const goneWords = gone.map(({ text }) => wordsOf(text));
  const alike = fresh.flatMap(({ key, text }) => {
    const words = wordsOf(text);
    return gone.map(({ id }, at) => ({ key, id, share: sharedPart(words, goneWords[at] as ReadonlySet<string>) }));
  });
  const taken = new Set<string>();
  for (const { key, id } of alike.filter((pair) => pair.share >= ALIKE).sort((a, b) => b.share - a.share)) {
    if (pairs.has(key) || taken.has(id)) continue;
    pairs.set(key, id);
    taken.add(id);
  }
  return pairs;
}

const wordsOf = (text: string): ReadonlySet<string> => new Set(text.toLowerCase().match(/[\p{L}\p{N}]+/gu));

function sharedPart(a: ReadonlySet<string>, b: ReadonlySet<string>): number {
  let shared = 0;
  for (const word of a) if (b.has(word)) shared++;
  return shared / Math.max(1, a.size + b.size - shared);
}
