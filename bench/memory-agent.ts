/**
 * memory-agent.ts -- measures what an agent sees of its own past, in its loop, compared with SQLite FTS5.
 *
 *   node bench/memory-agent.ts [--rows 1000,10000,100000]
 *
 * "Seen" is the share of the expected values that the prompt would show, rendered as goald renders recalls; of FTS5 the ten best
 * rows are shown whole. The sets are: eight facts about one subject, values of a series, facts in the same and in other words, facts
 * told anew, wrong rows that were left several times and corrected once, facts at different places of an agent's steps, and a question that is the newest of fifteen texts at growing
 * numbers of rows.
 */
import { parseArgs } from "node:util";
import { formatFact, identifyFact } from "#core/memory.ts";
import { measureCorrected } from "./memory-agent/corrected.ts";
import { measurePlaces } from "./memory-agent/loop-facts.ts";
import { measureScale } from "./memory-agent/scale.ts";
import {
  amongNoise,
  type Change,
  entitySet,
  type MemorySet,
  paraphraseSet,
  readChanges,
  readNoise,
  seriesSet,
} from "./memory-agent/sets.ts";
import { fullText, goald, type MemorySystem, type MemoryText } from "./memory-agent/shown.ts";
import { rowOf } from "./shared/print.ts";

const { values } = parseArgs({ options: { rows: { type: "string", default: "1000,10000,100000" } } });
const SYSTEMS = [goald, fullText];
const line = rowOf(40, 22);

console.log(line("seen, share of the values", ...SYSTEMS.map(({ name }) => name)));
const sets: readonly MemorySet[] = [
  ...[entitySet("one file"), entitySet("file per person"), entitySet("plain")],
  ...[seriesSet(), paraphraseSet("same"), paraphraseSet("other")],
];
for (const set of sets) {
  const cells: string[] = [];
  for (const system of SYSTEMS) cells.push((await measureSeen(system, set)).toFixed(2));
  console.log(line(set.name, ...cells));
}
for (const way of ["in a step", "with remember"] as const) {
  const first: string[] = [];
  for (const system of SYSTEMS) first.push(`${await countNewFirst(system, way)} of ${readChanges().length}`);
  console.log(line(`told anew ${way}: the new one first`, ...first));
}
for (const copies of [1, 2, 3]) {
  const { goald: ours, fullText: theirs } = await measureCorrected(copies);
  console.log(line(`wrong row left ${copies} ×, corrected: still shown`, ours.toFixed(2), theirs.toFixed(2)));
}

console.log(`\n${line("facts of 4 seen, by place in the step", "same words", "other words")}`);
const places = await measurePlaces();
for (const { place, same, other } of places) console.log(line(place, String(same), String(other)));
const sum = (words: "same" | "other"): string => String(places.reduce((total, place) => total + place[words], 0));
console.log(line("all 32", sum("same"), sum("other")));

console.log(`\n${line("R@10 of a question", "alone", "in the loop", "FTS5 alone", "CPU per recall")}`);
for (const rows of values.rows.split(",").map(Number)) {
  const { alone, inLoop, fullTextAlone, cpuMs } = await measureScale(rows);
  const cells = [alone.toFixed(3), inLoop.toFixed(3), fullTextAlone.toFixed(3), `${cpuMs.toFixed(2)} ms`];
  console.log(line(`${rows.toLocaleString("en-US")} rows`, ...cells));
}

async function measureSeen(system: MemorySystem, { rows, probes }: MemorySet): Promise<number> {
  const memory = await system.open(rows);
  let share = 0;
  for (const { question, answers } of probes) {
    const shown = (await memory.ask([question])).join("\n");
    share += answers.filter((answer) => shown.includes(answer)).length / answers.length / probes.length;
  }
  await memory.close();
  return share;
}

/** Counts the questions whose new fact is shown before the old one; with `remember` the old one must have its mark. */
async function countNewFirst(system: MemorySystem, way: "in a step" | "with remember"): Promise<number> {
  const changes = readChanges();
  const told = way === "in a step" ? tellInSteps(changes) : tellByRemember(changes);
  const memory = await system.open(amongNoise(told, readNoise(), 10));
  let count = 0;
  for (const { question, oldValue, newValue } of changes) {
    const shown = await memory.ask([question]);
    const placeOf = (value: string): number => shown.findIndex((row) => row.includes(value)) + 1 || shown.length + 1;
    const isMarked = shown.every((row) => !row.includes(oldValue) || row.includes("was so until"));
    if (way === "with remember" && system === goald && !isMarked) continue;
    // A row with both values is the new one, which names what it replaces.
    if (placeOf(newValue) <= placeOf(oldValue) && placeOf(newValue) <= shown.length) count++;
  }
  await memory.close();
  return count;
}

function tellInSteps(changes: readonly Change[]): readonly MemoryText[] {
  return [...changes.map((change) => change.old), ...changes.map((change) => change.new)].map((text) => ({ text }));
}

function tellByRemember(changes: readonly Change[]): readonly MemoryText[] {
  return (["oldValue", "newValue"] as const).flatMap((which) =>
    changes.map((change) => {
      const fact = { ...change, value: change[which] };
      return { text: formatFact(fact), factKey: identifyFact(fact) };
    }),
  );
}
