/**
 * ingest.ts -- `goald ingest`: reads files and pages into a memory, in pieces.
 *
 * A second run replaces changed pieces and forgets pieces and files that are gone. Pieces that a person forgot or corrected
 * do not come back.
 */
import { resolve, sep } from "node:path";
import { openPages } from "#app/services.ts";
import { printNote } from "#cli/terminal/print.ts";
import { EXIT, GoaldError, isGoaldError } from "#core/errors.ts";
import { countNoun } from "#core/text.ts";
import { clean } from "#util/outside-text.ts";
import {
  type IngestPlan,
  type IngestSource,
  type KnownPiece,
  type KnownSource,
  planSource,
  retire,
} from "#views/ingest-plan.ts";
import type { MemoryView } from "#views/memory-view.ts";
import { MEMORY_AGENT, SHARED } from "../option.ts";
import { type Changer, inUnits, lengthOfChange, openChanger } from "../shared/change-memory.ts";
import { type CliContext, openContext } from "../shared/context.ts";
import { filesBelow, isGone, placeOf, readText, type Skipped } from "../shared/ingest-read.ts";
import { allMemories, findSpace, type MemoryOptions, type Space } from "../shared/memory-space.ts";
import { withReading } from "../shared/reading.ts";
import { defineVerb, HOST_CODES } from "../verb.ts";

export const verb = defineVerb({
  description: "read files or pages into an agent's memory, in pieces; again: only what changed",
  examples: ["goald ingest foo notes.md", "goald ingest foo docs/", "goald ingest foo --shared handbook/"],
  arguments: [MEMORY_AGENT, { name: "<sources...>", about: "files, folders, addresses of pages" }],
  options: { shared: SHARED },
  exitCodes: { notFound: "no such agent or file", ...HOST_CODES },
  run: ([agent = "", ...sources], options) => ingest(agent, sources, options),
});

const MAX_SHOWN = 10;

interface Ingestion {
  readonly context: CliContext;
  readonly space: Space;
  readonly change: Changer;
  /** Known sources and their pieces, by source. */
  readonly known: Map<string, Held>;
  readonly skipped: Skipped[];
  readonly sums: { sources: number; added: number; changed: number; removed: number; unchanged: number };
}

interface Held extends KnownSource {
  readonly pieces: KnownPiece[];
  readonly settled: Set<string>;
}

export async function ingest(name: string, sources: readonly string[], options: MemoryOptions): Promise<number> {
  const context = await openContext(options);
  try {
    const space = await withReading(context, (reading) => findSpace(reading, name, options));
    const change = await openChanger(context);
    const sums = { sources: 0, added: 0, changed: 0, removed: 0, unchanged: 0 };
    const work: Ingestion = { context, space, change, known: await knownIn(space, context), skipped: [], sums };
    for (const source of sources) await ingestOne(source, work);
    return tell(work);
  } finally {
    context.output.close();
  }
}

const knownIn = ({ place }: Space, context: CliContext): Promise<Map<string, Held>> =>
  withReading(context, async (reading) => {
    const rows: MemoryView[] = [];
    for await (const row of allMemories(reading, place)) rows.push(row);
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

async function ingestOne(given: string, work: Ingestion): Promise<void> {
  if (/^https?:\/\//i.test(given)) return ingestPage(given, work);
  const place = await placeOf(given);
  if (place?.isFolder) return ingestFolder(place.path, work);
  if (place) return ingestFile(place.path, work);
  const gone = [...work.known.keys()].filter((source) => isIn(resolve(given), source));
  if (gone.length === 0)
    throw new GoaldError("GOALD_FILE_MISSING", `${given} does not exist, and nothing was read from it earlier.`);
  for (const source of gone) await forget(source, work);
}

const isIn = (place: string, source: string): boolean => source === place || source.startsWith(place + sep);

async function ingestFolder(folder: string, work: Ingestion): Promise<void> {
  const skip = (skipped: Skipped): void => void work.skipped.push(skipped);
  for await (const file of filesBelow(folder, skip)) await ingestFile(file, work);
  for (const source of [...work.known.keys()])
    if (isIn(folder, source) && (await isGone(source))) await forget(source, work);
}

async function ingestFile(file: string, work: Ingestion): Promise<void> {
  const found = await readText(file, (skipped) => void work.skipped.push(skipped));
  if (found) await take({ name: found.path, text: found.text, format: found.format, trust: "file" }, work);
}

async function ingestPage(address: string, work: Ingestion): Promise<void> {
  const { settings, scrub } = work.context;
  const pages = openPages(settings, scrub);
  if (!pages)
    throw new GoaldError("GOALD_NOT_CONFIGURED", "This version of goald cannot read pages from the web.", {
      hint: "Save the page as a file and read that: goald ingest <agent> FILE",
    });
  const interrupt = new AbortController();
  const stop = () => interrupt.abort();
  process.once("SIGINT", stop);
  try {
    const { text } = await pages.read(address, interrupt.signal);
    await take({ name: new URL(address).href, text, format: "markdown", trust: "web" }, work);
  } catch (thrown) {
    if (!isGoaldError(thrown)) throw thrown;
    work.skipped.push({ path: address, reason: thrown.message });
  } finally {
    process.off("SIGINT", stop);
  }
}

async function take(source: IngestSource, work: Ingestion): Promise<void> {
  const text = work.context.scrub(source.text);
  const plan = planSource({ ...source, text }, work.known.get(source.name) ?? { pieces: [], settled: new Set() });
  work.sums.sources++;
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
function tell({ context: { output }, space, skipped, sums }: Ingestion): number {
  const { sources, added, changed, removed, unchanged } = sums;
  const code = sources + removed === 0 && skipped.length > 0 ? EXIT.error : EXIT.ok;
  if (output.json) {
    output.data(JSON.stringify({ namespace: space.namespace, ...sums, skipped }));
    return code;
  }
  for (const { path, reason } of skipped.slice(0, MAX_SHOWN)) printNote(`Skipped ${path}: ${reason}`);
  if (skipped.length > MAX_SHOWN) printNote(`Skipped ${skipped.length - MAX_SHOWN} more.`);
  const pieces = `${countNoun(added, "piece")} added, ${changed} changed, ${removed} removed, ${unchanged} unchanged`;
  const left = skipped.length > 0 ? `; ${skipped.length} skipped` : "";
  output.say(clean(`${countNoun(sources, "text")} read into ${space.title}: ${pieces}${left}.`));
  return code;
}
