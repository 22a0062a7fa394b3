/** sets.ts -- memories of agents and the questions about them, made from test/data/memory. The seed is fixed. */
import { randomNumbers } from "../../test/helpers/memory-rows.ts";
import { type Doc, readData } from "../memory-quality/data.ts";
import type { MemoryText } from "./shown.ts";

/** A question, and the texts that its answer must show. */
export interface Probe {
  readonly question: string;
  readonly answers: readonly string[];
}
export interface MemorySet {
  readonly name: string;
  readonly rows: readonly MemoryText[];
  readonly probes: readonly Probe[];
}

export interface Fact {
  readonly fact: string;
  readonly answer: string;
  /** Questions with the words of the fact, and with other words. */
  readonly same: string;
  readonly other: string;
}
export const readFacts = (): readonly Fact[] => readData<Fact>("facts.jsonl");

/** A fact that was told anew later, in other words. */
export interface Change {
  readonly subject: string;
  readonly attribute: string;
  readonly old: string;
  readonly new: string;
  readonly oldValue: string;
  readonly newValue: string;
  readonly question: string;
}
export const readChanges = (): readonly Change[] => readData<Change>("changes.jsonl");

/** Steps of other work. */
export const readNoise = (): readonly MemoryText[] => readData<Doc>("agent-docs.jsonl").map(({ text }) => ({ text }));

/** Places the rows among the noise, in their order. */
export function amongNoise(rows: readonly MemoryText[], noise: readonly MemoryText[], seed: number): MemoryText[] {
  const next = randomNumbers(seed);
  const all: MemoryText[] = [...noise];
  const places = rows.map(() => Math.floor(next() * (noise.length + 1))).sort((a, b) => a - b);
  for (const [at, row] of rows.entries()) all.splice((places[at] ?? 0) + at, 0, row);
  return all;
}

const PEOPLE = [
  ...["Greta", "Ivo", "Salma", "Ruben", "Noor", "Tilda", "Oskar", "Mei"],
  ...["Jonas", "Petra", "Kofi", "Alma", "Viktor", "Leila", "Bruno", "Hanne"],
];
const ATTRIBUTES: readonly (readonly [begins: string, ends: readonly string[]])[] = [
  ["drives to work with", ["a red bicycle", "an old tram", "a rented van", "a grey scooter"]],
  ["is allergic to", ["walnuts", "pollen", "cat hair", "penicillin"]],
  ["plays in the evening", ["the cello", "chess", "badminton", "the accordion"]],
  ["keeps the spare key with", ["a neighbour", "the porter", "a sister", "the bakery"]],
  ["prefers meetings at", ["nine sharp", "noon", "half past two", "the end of the day"]],
  ["has a desk beside", ["the window", "the printer", "the stairs", "the kitchen"]],
  ["learned the trade in", ["Bruges", "Tromsø", "Valencia", "Graz"]],
  ["reports on Fridays to", ["the board", "Doctor Quist", "the union", "an auditor"]],
];

/** Eight facts about each of sixteen people, noted in one file, in a file for each, or left without a command around them. */
export function entitySet(form: "one file" | "file per person" | "plain"): MemorySet {
  const next = randomNumbers(5);
  const facts = PEOPLE.flatMap((name) =>
    ATTRIBUTES.map(([begins, ends]) => ({
      name,
      fact: `${name} ${begins} ${ends[Math.floor(next() * ends.length)]}.`,
    })),
  );
  const shuffled = facts.map((fact) => ({ fact, place: next() })).sort((a, b) => a.place - b.place);
  let bytes = 0;
  const rows = shuffled.map(({ fact: { name, fact } }): MemoryText => {
    if (form === "plain") return { text: fact };
    const file = form === "one file" ? "notes.md" : `people/${name.toLowerCase()}.md`;
    bytes += fact.length + 1;
    return { text: noted(file, fact, bytes) };
  });
  const probes = PEOPLE.map((name) => ({
    question: `What do I know about ${name}?`,
    answers: facts.filter((fact) => fact.name === name).map(({ fact }) => fact.slice(name.length + 1, -1)),
  }));
  // Ten recalls have no room for more rows about one person.
  const noise = readNoise().filter(({ text }) => !PEOPLE.some((name) => text.includes(name)));
  return { name: `8 facts of one subject, ${form}`, rows: amongNoise(rows, noise, 6), probes };
}

/** The row that append_to_file leaves. */
const noted = (file: string, fact: string, bytes: number): string =>
  `Command: append_to_file ${JSON.stringify({ file, text: `${fact}\n` })}\n` +
  `Done: Added ${fact.length + 1} bytes to the end of ${file}, which now has ${bytes}.\nFiles: ${file}\n` +
  "Thought: I write down what I learned.";

const LISTED = [113, 142, 97, 205, 88, 176, 131, 254, 69, 190] as const;

/** Ten rows that differ only in numbers. */
export function seriesSet(): MemorySet {
  const rows = LISTED.map((price, at) => ({ text: `Listing ${301 + 7 * at}: the price is ${price} euros.` }));
  const probe = {
    question: "Which prices of the listings of the catalogue do I know?",
    answers: LISTED.map((price) => String(price)),
  };
  return { name: "10 values of a series", rows: amongNoise(rows, readNoise(), 8), probes: [probe] };
}

/** Facts as plain rows, asked for with their own words or with others. */
export function paraphraseSet(words: "same" | "other"): MemorySet {
  const facts = readFacts();
  const rows = facts.map(({ fact }) => ({ text: fact }));
  const probes = facts.map((fact) => ({ question: fact[words], answers: [fact.answer] }));
  return { name: `facts in ${words} words`, rows: amongNoise(rows, readNoise(), 9), probes };
}
