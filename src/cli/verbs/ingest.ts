/**
 * ingest.ts -- `goald ingest`: reads files and pages into a memory, in pieces. A second run replaces changed pieces and
 * forgets pieces and files that are gone. Pieces that a person forgot or corrected do not come back.
 */
import { hash } from "node:crypto";
import { lstat, readdir, readFile, realpath, stat } from "node:fs/promises";
import { basename, dirname, extname, join, resolve, sep } from "node:path";
import { openPages } from "#app/services.ts";
import { printNote } from "#cli/terminal/print.ts";
import { codeOf, EXIT, GoaldError, isGoaldError, toError } from "#core/errors.ts";
import type { MemoryChange, MemoryRow, Trust } from "#core/ports/memory.ts";
import { webSource } from "#core/provenance.ts";
import { countNoun, oneLine } from "#core/text.ts";
import { chunkText } from "#util/chunk-text.ts";
import { decodeUtf8 } from "#util/media-format.ts";
import { clean } from "#util/outside-text.ts";
import { withReading } from "../agents.ts";
import { type CliContext, openContext } from "../context.ts";
import {
  allMemories,
  type Changer,
  findSpace,
  inUnits,
  lengthOfChange,
  openChanger,
  type Space,
  titleOf,
} from "../memory-space.ts";
import { defineVerb, HOST_CODES, MEMORY_AGENT, SHARED, usageError } from "../verb.ts";

export const verb = defineVerb({
  description: "read files or pages into an agent's memory, in pieces; again: only what changed",
  examples: ["goald ingest chef notes.md", "goald ingest chef docs/", "goald ingest chef --shared handbook/"],
  arguments: [MEMORY_AGENT, { name: "<sources...>", about: "files, folders, addresses of pages" }],
  options: { shared: SHARED },
  exitCodes: { notFound: "no such agent or file", ...HOST_CODES },
  run: async ([name = "", ...sources], options) => {
    using context = await openContext(options);
    const space = await withReading(context, (reading) => findSpace(reading, name, options));
    const change = await openChanger(context);
    const sums = { added: 0, changed: 0, removed: 0, unchanged: 0 };
    const known = await knownIn(space, context);
    const work: Ingestion = { context, space, change, known, taken: new Set(), skipped: [], sums };
    const readings = await Array.fromAsync(sources, (source) => findSource(source, work));
    for (const read of readings) await read();
    return tell(work);
  },
});

const MAX_SHOWN = 10;

interface Ingestion {
  readonly context: CliContext;
  readonly space: Space;
  readonly change: Changer;
  /** Known sources and their pieces, by source. */
  readonly known: Map<string, Held>;
  /** Sources that were read, each once. */
  readonly taken: Set<string>;
  readonly skipped: Skipped[];
  readonly sums: { added: number; changed: number; removed: number; unchanged: number };
}

interface Held {
  /** Live rows. */
  readonly pieces: KnownPiece[];
  /** Keys of rows that a person forgot or corrected: never added again. */
  readonly settled: Set<string>;
}

const knownIn = ({ place }: Space, context: CliContext): Promise<Map<string, Held>> =>
  withReading(context, async (reading) => {
    const rows = await Array.fromAsync(allMemories(reading, place));
    const byPerson = new Set(rows.filter(({ trust }) => trust === "person").map(({ id }) => id));
    const known = new Map<string, Held>();
    for (const { id, key, text, source, kind, forgotten, supersededBy } of rows) {
      if (source === null || kind !== "file_chunk") continue;
      const held = known.get(source) ?? { pieces: [], settled: new Set<string>() };
      known.set(source, held);
      if (forgotten === null && supersededBy === null) held.pieces.push({ id, key, text });
      else if (key !== null && (forgotten === "person" || byPerson.has(supersededBy ?? ""))) held.settled.add(key);
    }
    return known;
  });

/** Throws GOALD_FILE_MISSING for a path that is not there and never was, before anything is read. */
async function findSource(given: string, work: Ingestion): Promise<() => Promise<void>> {
  if (/^https?:\/\//i.test(given)) return () => ingestPage(given, work);
  const place = await placeOf(given);
  if (place.holds === "nothing" && !work.known.keys().some((source) => isIn(place.path, source)))
    throw new GoaldError("GOALD_FILE_MISSING", `${given} does not exist, and nothing was read from it earlier.`);
  return () => ingestPlace(place, work);
}

const isIn = (place: string, source: string): boolean => source === place || source.startsWith(place + sep);

async function ingestPlace({ path, holds }: Place, work: Ingestion): Promise<void> {
  const files = holds === "folder" ? filesBelow(path, work.skipped) : holds === "file" ? [path] : [];
  for await (const file of files) {
    const found = await readText(file, work.skipped);
    if (found) await take({ ...found, trust: "file" }, work);
  }
  for (const source of [...work.known.keys()])
    if (isIn(path, source) && (await isGone(source))) await forget(source, work);
}

async function ingestPage(address: string, work: Ingestion): Promise<void> {
  const { settings, scrub } = work.context;
  try {
    const { text } = await openPages(settings, scrub).read(address, new AbortController().signal);
    await take({ name: new URL(address).href, text, format: "markdown", trust: "web" }, work);
  } catch (thrown) {
    if (!isGoaldError(thrown)) throw thrown;
    work.skipped.push({ path: address, reason: thrown.message });
  }
}

async function take(source: IngestSource, work: Ingestion): Promise<void> {
  if (work.taken.has(source.name)) return;
  work.taken.add(source.name);
  const text = work.context.scrub(source.text);
  const plan = planSource({ ...source, text }, work.known.get(source.name) ?? { pieces: [], settled: new Set() });
  await apply(plan, work);
}

async function forget(source: string, work: Ingestion): Promise<void> {
  const changes = (work.known.get(source)?.pieces ?? []).map(retire);
  await apply({ changes, added: 0, changed: 0, removed: changes.length, unchanged: 0 }, work);
  work.known.delete(source);
}

async function apply({ changes, ...counts }: IngestPlan, { change, space, sums }: Ingestion): Promise<void> {
  for (const unit of inUnits(changes, lengthOfChange)) await change(space.namespace, unit);
  for (const name of ["added", "changed", "removed", "unchanged"] as const) sums[name] += counts[name];
}

/** Prints the result. The exit code is an error when none of the named sources could be read. */
function tell({ context: { output }, space, taken: { size: sources }, skipped, sums }: Ingestion): number {
  const { added, changed, removed, unchanged } = sums;
  const code = sources + removed === 0 && skipped.length > 0 ? EXIT.error : EXIT.ok;
  if (output.printJson({ namespace: space.namespace, sources, ...sums, skipped })) return code;
  for (const { path, reason } of skipped.slice(0, MAX_SHOWN)) printNote(`Skipped ${path}: ${reason}`);
  if (skipped.length > MAX_SHOWN) printNote(`Skipped ${skipped.length - MAX_SHOWN} more.`);
  const pieces = `${countNoun(added, "piece")} added, ${changed} changed, ${removed} removed, ${unchanged} unchanged`;
  const left = skipped.length > 0 ? `; ${skipped.length} skipped` : "";
  output.say(clean(`${countNoun(sources, "text")} read into ${titleOf(space.namespace)}: ${pieces}${left}.`));
  return code;
}

/**
 * A file or page that is not read, and why: links inside a folder, hidden files, node_modules, PDFs, binary and large
 * files are skipped. Memories that were read from a skipped file earlier stay.
 */
interface Skipped {
  readonly path: string;
  readonly reason: string;
}
type FoundText = Pick<IngestSource, "name" | "text" | "format">;

const MAX_FILE_BYTES = 5 * 1024 * 1024;
const MAX_FILES = 20_000;
const MARKDOWN: ReadonlySet<string> = new Set([".md", ".markdown", ".mdx", ".mkd"]);

interface Place {
  /** Without links. */
  readonly path: string;
  readonly holds: "file" | "folder" | "nothing";
}

/** Throws GOALD_FILE for what cannot be read, GOALD_USAGE for an empty path. */
async function placeOf(given: string): Promise<Place> {
  if (given.trim() === "") throw usageError("Expected files, folders or addresses of pages, got an empty one.");
  try {
    const found = await stat(given);
    if (!found.isDirectory() && !found.isFile())
      throw new GoaldError("GOALD_FILE", `${given} is neither a file nor a folder.`);
    return { path: await realpath(given), holds: found.isDirectory() ? "folder" : "file" };
  } catch (thrown) {
    if (isMissing(thrown)) return { path: await resolveLinks(resolve(given)), holds: "nothing" };
    if (isGoaldError(thrown)) throw thrown;
    throw new GoaldError("GOALD_FILE", `${given} cannot be read: ${toError(thrown).message}`);
  }
}

const isMissing = (thrown: unknown): boolean => codeOf(thrown) === "ENOENT" || codeOf(thrown) === "ENOTDIR";

/** Resolves the links of the part of an absolute path that exists. */
const resolveLinks = (path: string): Promise<string> =>
  realpath(path).catch(async () => join(await resolveLinks(dirname(path)), basename(path)));

const isGone = (path: string): Promise<boolean> => lstat(path).then(() => false, isMissing);

/** Lists the files below a folder by name, and reports skipped ones. Throws GOALD_USAGE for too many. */
async function* filesBelow(folder: string, skipped: Skipped[]): AsyncGenerator<string> {
  let count = 0;
  for (const folders = [folder]; folders.length > 0; ) {
    const current = folders.pop() as string;
    const entries = await readdir(current, { withFileTypes: true }).catch((thrown) => {
      skipped.push({ path: current, reason: reasonOf(thrown, current) });
      return [];
    });
    const inner: string[] = [];
    for (const entry of entries.sort((a, b) => (a.name < b.name ? -1 : 1))) {
      const path = join(current, entry.name);
      if (entry.isSymbolicLink()) skipped.push({ path, reason: "a link" });
      else if (entry.name.startsWith(".")) skipped.push({ path, reason: "hidden" });
      else if (entry.name === "node_modules") skipped.push({ path, reason: "packages" });
      else if (entry.isDirectory()) inner.push(path);
      else if (!entry.isFile()) skipped.push({ path, reason: "not a file" });
      else if (++count > MAX_FILES)
        throw usageError(
          `There are more than ${MAX_FILES} files below ${folder}.`,
          "Name only the folders that you need.",
        );
      else yield path;
    }
    folders.push(...inner.reverse());
  }
}

const reasonOf = (thrown: unknown, path: string): string =>
  isMissing(thrown) && path.includes("\ufffd") ? "its name is not UTF-8: rename it" : toError(thrown).message;

/** Returns undefined for a skipped file. */
async function readText(path: string, skipped: Skipped[]): Promise<FoundText | undefined> {
  const skip = (reason: string): number => skipped.push({ path, reason });
  try {
    const { size } = await stat(path);
    if (size > MAX_FILE_BYTES) return void skip(`larger than ${MAX_FILE_BYTES / 1024 / 1024} MB`);
    const bytes = await readFile(path);
    if (bytes.toString("latin1", 0, 5) === "%PDF-") return void skip("a PDF: give its web address");
    const text = bytes.includes(0) ? undefined : decodeUtf8(bytes);
    if (text === undefined) return void skip("not UTF-8 text");
    return { name: path, text, format: MARKDOWN.has(extname(path).toLowerCase()) ? "markdown" : "plain" };
  } catch (thrown) {
    return void skip(reasonOf(thrown, path));
  }
}

export interface IngestSource {
  /** Absolute path or address. The same text from another source is another piece. */
  readonly name: string;
  readonly text: string;
  readonly format: "markdown" | "plain";
  readonly trust: Trust;
}

export type KnownPiece = Pick<MemoryRow, "id" | "key" | "text">;

interface IngestPlan extends Readonly<Ingestion["sums"]> {
  readonly changes: readonly MemoryChange[];
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

/**
 * Plans the memory changes for a text that is read again: pieces to add, to replace and to retire. Pure. A piece is
 * identified by a hash of its source and its text, so unchanged pieces stay. A changed piece supersedes the most
 * similar old one, so that both are never recalled together.
 */
export function planSource(source: IngestSource, { pieces, settled }: Held): IngestPlan {
  const texts = new Map(piecesOf(source).map((text) => [keyOf(source.name, text), text]));
  const here = new Set([...pieces.map(({ key }) => key), ...settled]);
  const gone = pieces.filter(({ key }) => key === null || !texts.has(key));
  const fresh = [...texts].filter(([key]) => !here.has(key)).map(([key, text]) => ({ key, text }));
  const pairs = pairUp(fresh, gone);
  const origin = source.trust === "web" ? { importance: 0.3, outside: [webSource(source.name)] } : { importance: 0.4 };
  const content = { kind: "file_chunk", trust: source.trust, source: source.name, ...origin } as const;
  const adds = fresh.map(({ key, text }): MemoryChange => {
    const supersedes = pairs.get(key);
    return { op: "add", ...content, text, key, ...(supersedes === undefined ? {} : { supersedes }) };
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
const retire = ({ id }: Pick<KnownPiece, "id">): MemoryChange => ({ op: "forget", id, by: "source" });

const keyOf = (source: string, text: string): string => hash("sha256", JSON.stringify([source, text]));

/** Each piece begins with its file's name and headings, so that it is found by them and readable alone. */
export function piecesOf({ name, text, format }: FoundText): readonly string[] {
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

/** Maps the key of a new piece to the id of the old piece that it supersedes: most similar pairs first, each piece once. */
function pairUp(
  fresh: readonly { readonly key: string; readonly text: string }[],
  gone: readonly KnownPiece[],
): ReadonlyMap<string, string> {
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
  const shared = a.intersection(b).size;
  return shared / Math.max(1, a.size + b.size - shared);
}
