/** memory-file.ts -- `goald memory <agent> export` and `import`: writes and reads memories as JSON lines. */
import { readFile, stat, writeFile } from "node:fs/promises";
import { replacePrivateFile } from "#config/private-file.ts";
import { codeOf, EXIT, GoaldError, toError } from "#core/errors.ts";
import { isLive, isPast, MEMORY_KINDS, TRUSTS } from "#core/memory.ts";
import type { MemoryKind, MemoryRow, Trust } from "#core/ports/memory.ts";
import { outsideOf, parseSources } from "#core/provenance.ts";
import { countNoun } from "#core/text.ts";
import { isRecord, parseJson } from "#util/json.ts";
import { clean, inertJson } from "#util/outside-text.ts";
import { identityOf, type MemoryView } from "#views/memory-view.ts";
import { readInput, reading, withReading } from "../agents.ts";
import { type CliContext, openContext } from "../context.ts";
import { allMemories, findSpace, inUnits, lengthOfChange, openChanger, type Space, titleOf } from "../memory-space.ts";
import { defineVerb, flag, HOST_CODES, MEMORY_AGENT, SHARED, usageError } from "../verb.ts";

export const MEMORY_EXPORT = defineVerb({
  examples: ["goald memory chef export chef.jsonl"],
  arguments: [MEMORY_AGENT, { name: "[file]", about: "file to write; -: standard output (default)" }],
  options: { shared: SHARED },
  exitCodes: { notFound: "no such agent" },
  run: ([name = "", file], options) =>
    reading(options, async (reading, { output, redact }) => {
      const { place, namespace } = await findSpace(reading, name, options);
      const rows = (await Array.fromAsync(allMemories(reading, place))).filter(isLive);
      // The oldest first, so that facts close each other where they are imported.
      rows.sort((a, b) => a.seq - b.seq || orderWithinEvent(a.id) - orderWithinEvent(b.id));
      const lines = withNewerFacts(rows).map((row) => inertJson(redact(JSON.stringify(lineOf(row)))));
      if (file === undefined || file === "-") for (const line of lines) output.data(line);
      else {
        const text = lines.map((line) => `${line}\n`).join("");
        const isFile = (await stat(file).catch(() => undefined))?.isFile() ?? true;
        // A device or a pipe is never replaced.
        await (isFile ? replacePrivateFile : writeFile)(file, text).catch((thrown) => {
          throw cannot("written", file, thrown);
        });
        if (!output.printJson({ namespace, file, count: lines.length }))
          output.say(clean(`Wrote ${countNoun(lines.length, "row")} of ${namespace} to ${file}`));
      }
      return EXIT.ok;
    }),
});

// Without --trust, imported lines have the trust `file` and no pin. Lines that are known, corrected or forgotten here
// are skipped, so that importing a file twice changes nothing.
export const MEMORY_IMPORT = defineVerb({
  description: "add the memories of an exported file that are not there yet",
  examples: ["goald memory chef import chef.jsonl"],
  arguments: [MEMORY_AGENT, { name: "<file>", about: "JSON lines as export writes them; -: standard input" }],
  options: {
    trust: flag("--trust", "trust each line as far as it says (default: as the words of a file)"),
    shared: SHARED,
  },
  exitCodes: { notFound: "no such agent or file", ...HOST_CODES },
  run: async ([name = "", file = ""], options) => {
    using context = await openContext(options);
    // An invalid line is an error before anything is imported.
    const text = await readWhole(file);
    const lines = text.split("\n").flatMap((given, index) => {
      const line = given.trim();
      return line === "" ? [] : readLine(line, `${file}, line ${index + 1}`, options.trust === true, context);
    });
    const space = await withReading(context, (reading) => findSpace(reading, name, options));
    const added = await addLines(lines, space, context);
    const known = lines.length - added;
    if (context.output.json) context.output.data(JSON.stringify({ namespace: space.namespace, added, known }));
    else context.output.say(`Added ${countNoun(added, "row")} to ${titleOf(space.namespace)}; ${known} known already.`);
    return EXIT.ok;
  },
});

/** Leaves out past facts whose newer fact was replaced or forgotten: where they are imported they would hold again. Oldest first. */
function withNewerFacts(rows: readonly MemoryView[]): readonly MemoryView[] {
  const kept = new Set<string>();
  const newestFirst = rows.toReversed().filter((row) => {
    const isKept = !isPast(row) || kept.has(row.closed?.by ?? "");
    if (isKept) kept.add(row.id);
    return isKept;
  });
  return newestFirst.reverse();
}

/** Rows of one event in their order, then those that a person added before the next event. */
function orderWithinEvent(id: string): number {
  const [, made, ordinal] = /\/(?:\+(\d+)|\d+(?:\.(\d+))?)$/.exec(id) ?? [];
  return made === undefined ? Number(ordinal ?? 0) : MOST_STAGED + Number(made);
}
/** More rows than one event can have. */
const MOST_STAGED = 1_000_000;

function lineOf(row: MemoryView) {
  const { id, kind, text, importance, trust, at, step, source, pinned, outside = [], factKey, closed } = row;
  return {
    id,
    kind,
    text,
    importance,
    trust,
    at,
    step,
    source,
    pinned,
    ...outsideOf(outside),
    ...(factKey === undefined ? {} : { factKey }),
    ...(closed ? { closed } : {}),
  };
}

/** Returns the number of new memories. */
async function addLines(lines: readonly GivenLine[], space: Space, context: CliContext): Promise<number> {
  const { namespace, place } = space;
  const here = await withReading(context, async (reading) => {
    const [past, texts, rows] = [new Set<string>(), new Set<string>(), new Set<string>()];
    for await (const row of allMemories(reading, place)) {
      (isPast(row) ? past : texts).add(identityOf(row));
      rows.add(originOf(row));
    }
    return { past, texts, rows };
  });
  // A fact that holds is not known by a past one: its value may have come back since.
  const isKnown = ({ origin, change, isClosed }: GivenLine): boolean =>
    here.texts.has(identityOf(change)) ||
    (isClosed && here.past.has(identityOf(change))) ||
    (origin !== null && here.rows.has(origin));
  const fresh = lines.filter((line) => !isKnown(line));
  const change = await openChanger(context);
  let added = 0;
  for (const batch of inUnits(fresh, ({ change }) => lengthOfChange(change))) {
    const changed = await change(
      namespace,
      batch.map(({ change }) => change),
    );
    added += changed.filter(({ isNew }) => isNew).length;
  }
  return added;
}

/** Identifies a row by id and time, since other homes have the same ids. */
const originOf = ({ id, at }: Pick<MemoryRow, "id" | "at">): string => `${id} ${at}`;

type GivenLine = ReturnType<typeof readLine>;

const MAX_TEXT_CHARS = 20_000;
const MAX_BYTES = 256 * 1024 * 1024;

/** `origin`: result of `originOf` for the exported row, or null. */
function readLine(line: string, place: string, isTrusted: boolean, { scrub }: CliContext) {
  const value = parseJson(line);
  if (!isRecord(value)) throw wrong(place, "a JSON object");
  const { text, kind = "fact", trust = "file", importance = 0.4, source = null, id, at, pinned = false } = value;
  if (typeof text !== "string" || clean(text).trim() === "" || text.length > MAX_TEXT_CHARS)
    throw wrong(place, `a text of 1 to ${MAX_TEXT_CHARS} characters`);
  if (!MEMORY_KINDS.includes(kind as MemoryKind)) throw wrong(place, `a kind (${MEMORY_KINDS.join(", ")})`);
  if (!TRUSTS.includes(trust as Trust)) throw wrong(place, `a trust (${TRUSTS.join(", ")})`);
  if (typeof importance !== "number" || importance < 0 || importance > 1)
    throw wrong(place, "an importance from 0 to 1");
  if (source !== null && (typeof source !== "string" || source.length > 4_096))
    throw wrong(place, "a source of up to 4096 characters");
  const { factKey } = value;
  if (factKey !== undefined && (typeof factKey !== "string" || !/^[0-9a-f]{64}$/.test(factKey)))
    throw wrong(place, "a factKey as export writes it");
  const outside = parseSources(value.outside ?? []);
  if (!outside) throw wrong(place, "outside sources as export writes them");
  const content = {
    kind: kind as MemoryKind,
    text: scrub(clean(text)),
    importance,
    trust: isTrusted || trust === "web" ? (trust as Trust) : "file",
    ...(source === null || source === "" ? {} : { source: clean(source) }),
    // Sources are read with --trust too, because another home does not change where the words came from.
    ...outsideOf(outside.map(({ from, name }) => ({ from, name: clean(name) }))),
    ...(factKey === undefined ? {} : { factKey }),
  };
  // The same fact may be noted again after another one, so its time tells them apart.
  const key = `import/${identityOf(content)}${factKey === undefined ? "" : `/${String(at).slice(0, 32)}`}`;
  const change = { op: "add", ...content, key, pinned: isTrusted && pinned === true } as const;
  const origin = typeof id === "string" && typeof at === "string" ? originOf({ id, at }) : null;
  return { origin, change, isClosed: value.closed !== undefined };
}

async function readWhole(file: string): Promise<string> {
  if (file !== "-")
    return readFile(file, "utf8").catch((thrown) => {
      throw cannot("read", file, thrown);
    });
  const text = await readInput(MAX_BYTES);
  if (text.length > MAX_BYTES) throw usageError("Standard input is longer than 256 MB.");
  return text;
}

const wrong = (place: string, expected: string): GoaldError =>
  new GoaldError("GOALD_USAGE", `Expected ${expected} in ${place}, got something else. Nothing was imported.`, {
    hint: "Write one JSON object per line, as `goald memory <agent> export` does.",
  });

function cannot(what: string, file: string, thrown: unknown): GoaldError {
  const missing = what === "read" && codeOf(thrown) === "ENOENT";
  return new GoaldError(
    missing ? "GOALD_FILE_MISSING" : "GOALD_FILE",
    `${file} cannot be ${what}: ${toError(thrown).message}`,
  );
}
