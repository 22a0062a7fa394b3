/**
 * memory-quality.ts -- measures how well memory finds the evidence for questions, compared with other ways to search.
 *
 *   node bench/memory-quality.ts [--docs docs.jsonl --queries queries.jsonl] [--across]
 *
 * A line of docs is {doc_id, text, ns, ts}, in order of time; a line of queries is {query, relevant_ids} with optional {ns, half}.
 * A question is asked in its namespace, or in that of its evidence; with `--across` in all namespaces at once. Without files the
 * traces and chats of test/data/memory are used; settings were chosen on their `dev` half alone.
 *
 * R@10 is the share of the evidence among the ten results, MRR is 1 over the place of its first, and "shown" is the share that a
 * prompt would show: for goald with the rows around the ten, for others the ten. Waste is the share of results that
 * the prompt contains already, when the last nine messages are the query (AutoGPT sends that query to plain vectors).
 * The last columns are measured with six near-duplicates of 15 % of the texts: R@10, where a copy counts as its original, and
 * the number of distinct texts among the ten. A missed target is printed and does not fail the bench.
 */
import { join } from "node:path";
import { parseArgs } from "node:util";
import { type Doc, MEMORY_DATA, type Query, readLines, type Space, toSpaces } from "./memory-quality/data.ts";
import { measureNearDuplicates, measureQuality, measureWaste } from "./memory-quality/measure.ts";
import { fullRecall, type System, vectorsAlone, wordsAlone } from "./memory-quality/own.ts";
import { fullTextSearch, miniSearch } from "./memory-quality/peers.ts";
import { rowOf, verdictOf } from "./shared/print.ts";

const { values } = parseArgs({
  options: { docs: { type: "string" }, queries: { type: "string" }, across: { type: "boolean", default: false } },
});
const line = rowOf(32, 11);
const goald = fullRecall();
const systems = [goald, wordsAlone(), vectorsAlone, miniSearch, fullTextSearch];

if (values.docs && values.queries) await report(values.docs, values.docs, values.queries);
else {
  await report("Agents' traces", join(MEMORY_DATA, "agent-docs.jsonl"), join(MEMORY_DATA, "agent-queries.jsonl"));
  await report("Chats", join(MEMORY_DATA, "chat-docs.jsonl"), join(MEMORY_DATA, "chat-queries.jsonl"));
}

async function report(title: string, docsPath: string, queriesPath: string): Promise<void> {
  const docs = readLines<Doc>(docsPath);
  const spaces = [...toSpaces(docs, readLines<Query>(queriesPath), values.across).values()];
  const halves = [...new Set(spaces.flatMap(({ queries }) => queries.map(({ half }) => half ?? "all")))];
  const questions = spaces.reduce((sum, { queries }) => sum + queries.length, 0);
  console.log(`\n${title}: ${docs.length} texts in ${spaces.length} namespaces, ${questions} questions.\n`);
  const heads = halves.flatMap((half) => [`R@10 ${half}`, `MRR ${half}`, `shown ${half}`]);
  console.log(line("", ...heads, "waste", "R@10 dup.", "of ten"));
  const results = new Map<System, Result>();
  for (const system of systems) results.set(system, await measure(system, spaces, halves));
  showTargets(results);
}

interface Result {
  readonly recall: number;
  readonly repeatedRecall: number;
  readonly waste: number;
}

async function measure(system: System, spaces: readonly Space[], halves: readonly string[]): Promise<Result> {
  const cells: string[] = [];
  for (const half of halves) {
    const { recall, mrr, shown } = await measureQuality(system, spaces, (query) => (query.half ?? "all") === half);
    cells.push(recall.toFixed(3), mrr.toFixed(3), shown.toFixed(3));
  }
  const { recall } = await measureQuality(system, spaces);
  const waste = await measureWaste(system, spaces);
  const repeated = await measureNearDuplicates(system, spaces);
  cells.push(percent(waste), repeated.recall.toFixed(3), repeated.distinctOfTen.toFixed(2));
  console.log(line(system.name, ...cells));
  return { recall, repeatedRecall: repeated.recall, waste };
}

function showTargets(results: ReadonlyMap<System, Result>): void {
  const [own, words, fullText] = [goald, miniSearch, fullTextSearch].map((system) => results.get(system));
  if (!own || !words || !fullText) return;
  const loss = 1 - own.repeatedRecall / own.recall;
  console.log();
  showTarget("R@10 over FTS5's", own.recall / fullText.recall, "at least 1.15", own.recall >= 1.15 * fullText.recall);
  showTarget("R@10 over MiniSearch's", own.recall / words.recall, "at least 1.35", own.recall >= 1.35 * words.recall);
  showTarget("waste", own.waste, "0", own.waste === 0);
  showTarget("R@10 lost to duplicates", loss, "at most 0.01", loss <= 0.01);
}

function showTarget(what: string, figure: number, target: string, isMet: boolean): void {
  console.log(`${what.padEnd(26)}${figure.toFixed(3).padStart(8)}   target: ${target}, ${verdictOf(isMet)}`);
}

function percent(share: number): string {
  return `${(100 * share).toFixed(1)} %`;
}
