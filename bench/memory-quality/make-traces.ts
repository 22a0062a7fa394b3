/**
 * make-traces.ts -- generates the traces that recall is measured on from the topics and chats in test/data/memory.
 *
 *   node bench/memory-quality/make-traces.ts
 *
 * A project is one agent's run: for each topic it searches, reads and keeps a note. Plans, failures, repeated and idle
 * steps come in between, and some findings are corrected later.
 * A chat has scenes, separated by `--`, with small talk between them; a turn with `*` answers the questions below it.
 * The seed is fixed, so the same topics give the same files. Half of the projects are `dev`: only those may choose settings.
 */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { randomNumbers } from "../../test/helpers/memory-rows.ts";
import { type Doc, MEMORY_DATA, type Query } from "./data.ts";
import { readTopics, type Topic } from "./topics.ts";

type Phrases = Readonly<Record<"starts" | "reads" | "keeps" | "titles" | "asides" | "words", readonly string[]>>;
const PHRASES = JSON.parse(readFileSync(join(MEMORY_DATA, "phrases.json"), "utf8")) as Phrases;
const SMALL_TALK = readFileSync(join(MEMORY_DATA, "smalltalk.txt"), "utf8").trim().split("\n");

const next = randomNumbers(20_261_121);
const docs: Doc[] = [];
const queries: Query[] = [];
for (const section of readFileSync(join(MEMORY_DATA, "topics.txt"), "utf8").split(/^# /m).slice(1)) {
  const [title = "", ...lines] = section.trim().split("\n");
  const [ns = "", half = ""] = title.split(" ");
  writeProject(ns, half, readTopics(lines));
}
save("agent-docs.jsonl", docs.splice(0));
save("agent-queries.jsonl", queries.splice(0));
for (const section of readFileSync(join(MEMORY_DATA, "chats.txt"), "utf8").split(/^# /m).slice(1)) {
  const [title = "", ...lines] = section.trim().split("\n");
  const [ns = "", half = ""] = title.split(" ");
  writeChat(ns, half, lines.join("\n").split("\n--\n"));
}
save("chat-docs.jsonl", docs);
save("chat-queries.jsonl", queries);

/** Writes one project from its first step to its last, and the questions about it. */
function writeProject(ns: string, half: string, topics: readonly Topic[]): void {
  let clock = Date.parse("2026-03-02T08:00:00Z") + Math.floor(next() * 4e9);
  let count = 0;
  const write = (text: string): string => {
    clock += 20_000 + Math.floor(next() * 400_000);
    const doc_id = `${ns}/${++count}`;
    docs.push({ doc_id, text, ns, ts: new Date(clock).toISOString() });
    return doc_id;
  };
  const idle = (most: number) => {
    for (let left = Math.floor(next() * (most + 1)); left > 0; left--) write(makeNoiseStep(topics));
  };
  const later: (() => void)[] = [];
  const ask = (kind: string, query: string, ids: readonly string[]) =>
    queries.push({ query, relevant_ids: ids, ns, half, kind });

  for (const [position, topic] of topics.entries()) {
    idle(24);
    const { asked, found, note, file } = learn(topic, write);
    for (const [kind, text] of topic.questions)
      if (kind === "fact") ask(kind, text, [found]);
      else if (kind === "f" && note) ask("file", text, [note]);
    if (file && position % 2 === 0)
      ask("done", `${pick(["Have I already tried to", "Did I", "What came of my plan to"])} ${topic.need}?`, [
        ...(asked ? [asked] : []),
        found,
        ...(note ? [note] : []),
      ]);
    const { replacement } = topic;
    if (replacement)
      later.push(() => {
        const id = write(
          step(
            `I look once more, to ${topic.need}`,
            "browse_website",
            { url: address(), question: topic.search },
            "ok",
            replacement,
          ),
        );
        for (const [kind, text] of topic.questions) if (kind === "u") ask("update", text, [id]);
      });
    if (later.length > 2) later.shift()?.();
  }
  for (const write of later) {
    idle(12);
    write();
  }
  idle(40);
}

/** Writes a chat of two people over some weeks. */
function writeChat(ns: string, half: string, scenes: readonly string[]): void {
  const speakers = ns.split("-").map((name) => name[0]?.toUpperCase() + name.slice(1));
  let clock = Date.parse("2026-02-01T18:00:00Z");
  let count = 0;
  const say = (text: string): string => {
    clock += 20_000 + Math.floor(next() * 90_000);
    const doc_id = `${ns}/${++count}`;
    docs.push({ doc_id, text, ns, ts: new Date(clock).toISOString() });
    return doc_id;
  };
  for (const scene of scenes) {
    for (let left = 2 + Math.floor(next() * 6); left > 0; left--) {
      clock += Math.floor(next() * 9e7);
      const first = next() < 0.5 ? 0 : 1;
      const turns = pick(SMALL_TALK).split(" | ");
      for (const [turn, text] of turns.slice(0, 2 + Math.floor(next() * 3)).entries())
        say(`${speakers[(first + turn) % 2]}: ${text}`);
    }
    let answer = "";
    for (const line of scene.split("\n"))
      if (line.startsWith("? ")) queries.push({ query: line.slice(2), relevant_ids: [answer], ns, half, kind: "chat" });
      else {
        const id = say(line.replace("*:", ":"));
        if (/^\w+\*:/.test(line)) answer = id;
      }
  }
}

function learn(
  topic: Topic,
  write: (text: string) => string,
): { asked?: string; found: string; note?: string; file?: string } {
  const { need, search, found, file, note, failure } = topic;
  if (search === "*") return { found: write(found) };
  if (failure)
    return {
      found: write(
        step(
          `${pick(["Next I", "Now I"])} ${need}`,
          failure[0],
          { target: pick(PHRASES.words) },
          `failed, ${failure[1]}`,
          found,
        ),
      ),
    };
  const asked =
    next() < 0.75
      ? { asked: write(step(`${pick(PHRASES.starts)} ${need}`, "google", { query: search }, "ok", hits(search))) }
      : {};
  const seen = write(
    step(
      pick(PHRASES.reads),
      "browse_website",
      { url: address(), question: search.split(" ").slice(0, 4).join(" ") },
      "ok",
      [pick(PHRASES.asides), found, pick(PHRASES.asides)].join(" "),
    ),
  );
  if (file === "-") return { ...asked, found: seen };
  const text = note === "-" ? found.slice(0, 60) : note;
  return {
    ...asked,
    found: seen,
    file,
    note: write(
      step(pick(PHRASES.keeps), "write_to_file", { file, text }, "ok", `Wrote ${text.length} bytes to ${file}.`),
    ),
  };
}

/** Returns a step that answers no question, in the words of the project. */
function makeNoiseStep(all: readonly Topic[]): string {
  const topics = all.filter(({ search }) => search.includes(" "));
  const [one, two] = [pick(topics), pick(topics)];
  const kind = next();
  if (kind < 0.2)
    return step(
      "I note how far I am",
      "append_to_file",
      { file: "progress.md", text: `step ${Math.floor(next() * 900)} done` },
      "ok",
      `Added ${10 + Math.floor(next() * 9)} bytes to progress.md.`,
    );
  if (kind < 0.4)
    return step(`The plan: first ${one.need}, then ${two.need}`, "do_nothing", {}, "ok", "Nothing was done.");
  if (kind < 0.6)
    return step(
      `${pick(PHRASES.starts)} ${one.need}`,
      "google",
      { query: shuffled(one.search) },
      "ok",
      hits(two.search),
    );
  if (kind < 0.75)
    return step(
      pick(PHRASES.reads),
      "browse_website",
      { url: address(), question: shuffled(two.search) },
      "ok",
      [pick(PHRASES.asides), pick(PHRASES.asides)].join(" "),
    );
  if (kind < 0.9)
    return step(
      "I look at what I have",
      "list_files",
      { directory: pick(["/", "notes", "review", "data"]) },
      "ok",
      topics
        .map(({ file }) => file)
        .filter((file) => file !== "-" && next() < 0.4)
        .join(", "),
    );
  return step(
    pick(PHRASES.reads),
    "browse_website",
    { url: address(), question: one.search },
    "failed, http-404",
    "The page is not there any more.",
  );
}

function step(thought: string, command: string, args: object, outcome: string, result: string): string {
  return `Thought: ${thought}.\nCommand: ${command} ${JSON.stringify(args)}\nResult (${outcome}): ${result}`;
}

function hits(search: string): string {
  const words = search.split(" ");
  return [1, 2, 3]
    .map((place) => `${place}. ${pick(PHRASES.titles)} ${pick(words)} ${pick(words)} (${address()})`)
    .join("; ");
}

function address(): string {
  return `https://${pick(PHRASES.words)}-${pick(PHRASES.words)}.example/${pick(PHRASES.words)}/${Math.floor(next() * 9_000)}`;
}

function shuffled(text: string): string {
  return text
    .split(" ")
    .sort(() => next() - 0.5)
    .slice(0, 4)
    .join(" ");
}

function pick<T>(list: readonly T[]): T {
  return list[Math.floor(next() * list.length)] as T;
}

function save(name: string, rows: readonly object[]): void {
  writeFileSync(join(MEMORY_DATA, name), `${rows.map((row) => JSON.stringify(row)).join("\n")}\n`);
  console.log(`${rows.length} rows in ${name}`);
}
