/**
 * golden.ts -- transcripts of the command line, kept as text in test/data/golden.
 *
 * `GOLDEN=write npm test -- test/cli/golden` writes the files anew; read the difference before you commit it.
 */
import { readFileSync } from "node:fs";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { type DaemonHomeOptions, makeDaemonHome } from "./daemon-home.ts";
import type { Ended, Goald, StartOptions } from "./goald.ts";
import { append, nameIn, replyWith, startAgent, subagentModel, write } from "./models.ts";
import type { ChatRequest } from "./openai-server.ts";

export const GOLDEN_FOLDER = fileURLToPath(new URL("../data/golden/", import.meta.url));
const LINE_LENGTH = 120;

export function openTranscript(goald: Goald) {
  const parts: string[] = [];
  /** A call that was made elsewhere. */
  const add = (call: string, ended: Ended): void => void parts.push(describeCall(call, ended, goald));
  return {
    /** All calls so far, with what they printed. */
    get text() {
      return `${parts.join("\n")}`;
    },
    /** One call a line, in one process for all of them. `'two words'` are one argument, `"` stays as it is. */
    ask: async (calls: string, options?: Pick<StartOptions, "env">): Promise<void> => {
      for (const call of linesIn(calls)) add(call, await goald.ask(wordsIn(call, goald), options));
    },
    /** The same where the agent goes on meanwhile: how it stands is left out. */
    askWhileGoing: async (calls: string): Promise<void> => {
      for (const call of linesIn(calls)) {
        const ended = await goald.ask(wordsIn(call, goald));
        add(call, { ...ended, stdout: withoutStanding(ended.stdout) });
      }
    },
    /** The same by the binary, a process for each call. */
    run: async (calls: string, options?: StartOptions): Promise<void> => {
      for (const call of linesIn(calls)) add(call, await goald.run(wordsIn(call, goald), options));
    },
    add,
    /** A line that explains what comes. */
    note: (words: string): void => void parts.push(`# ${words}\n`),
  };
}

/** A home whose agents work as `goldenModel` says, with a transcript. */
export async function openGolden(options: DaemonHomeOptions = {}) {
  const home = await makeDaemonHome([], { reply: goldenModel, ...options });
  return { ...home, transcript: openTranscript(home.goald) };
}

/** A call as the files show it: what was typed, standard output, standard error, the exit code. */
function describeCall(call: string, ended: Ended, goald: Goald): string {
  const { stdout, stderr, code, signal } = ended;
  const show = (text: string): string => readable(normalise(text, goald));
  const trouble = stderr === "" ? "" : `[stderr]\n${show(stderr)}`;
  return `$ goald ${call}\n${show(stdout)}${trouble}[exit ${code ?? signal}]\n`;
}

/** What was frozen, below what to do when `text` differs; with GOLDEN=write it becomes `text` first. */
export async function frozen(name: string, text: string): Promise<string> {
  const kept = await frozenFile(join(GOLDEN_FOLDER, `${name}.txt`), text);
  return kept === text ? kept : `(GOLDEN=write before the same npm command writes the new output of ${name})\n${kept}`;
}

/** The same for a file elsewhere. */
export async function frozenFile(file: string, text: string): Promise<string> {
  if (process.env.GOLDEN === "write") {
    await mkdir(dirname(file), { recursive: true });
    await writeFile(file, text);
  }
  return readFile(file, "utf8");
}

const linesIn = (calls: string): readonly string[] =>
  calls
    .split("\n")
    .map((line) => line.trim())
    .filter((line) => line !== "");

/** `<home>`, `<cwd>` and `<user>` are the folders of the test. */
function wordsIn(call: string, { home, cwd, userHome }: Goald): readonly string[] {
  const places = call.replaceAll("<home>", home).replaceAll("<cwd>", cwd).replaceAll("<user>", userHome);
  return [...places.matchAll(/'([^']*)'|(\S+)/g)].map(([, quoted, bare]) => quoted ?? bare ?? "");
}

/** One JSON value alone is shown over several lines; lines of JSON stay lines. */
function readable(text: string): string {
  if (text === "") return "";
  const isOneLine = text.indexOf("\n") === text.length - 1;
  if (isOneLine && /^[{[]/.test(text)) return `${layOut(JSON.parse(text), "")}\n`;
  const lines = text.replaceAll(/^\{.*"type":.*\}$/gm, inOrder);
  return text.endsWith("\n") ? lines : `${lines}\n[no line break at the end]\n`;
}

/** An event has its keys in another order when it was read from the store. */
function inOrder(line: string): string {
  const { seq, type, ...rest } = JSON.parse(line) as Record<string, unknown>;
  return JSON.stringify({ seq, type, ...(sorted(rest) as object) });
}

const sorted = (value: unknown): unknown =>
  typeof value !== "object" || value === null || Array.isArray(value)
    ? value
    : Object.fromEntries(
        Object.entries(value)
          .sort(([a], [b]) => (a < b ? -1 : 1))
          .map(([key, part]) => [key, sorted(part)]),
      );

/** JSON with a line for each part that does not fit into one. */
function layOut(value: unknown, indent: string): string {
  const compact = JSON.stringify(value);
  if (typeof value !== "object" || value === null || compact.length + indent.length <= LINE_LENGTH) return compact;
  const inner = `${indent}  `;
  const lines = Array.isArray(value)
    ? value.map((part) => layOut(part, inner))
    : Object.entries(value).map(([key, part]) => `${JSON.stringify(key)}: ${layOut(part, inner)}`);
  const [open, close] = Array.isArray(value) ? ["[", "]"] : ["{", "}"];
  return `${open}\n${lines.map((line) => `${inner}${line}`).join(",\n")}\n${indent}${close}`;
}

// Takes out of a transcript what differs from run to run: times, ids of processes, hashes, places, sizes of the
// machine.

const CHECKOUT = fileURLToPath(new URL("../..", import.meta.url)).replace(/\/$/, "");
const { version: VERSION } = JSON.parse(readFileSync(`${CHECKOUT}/package.json`, "utf8")) as { version: string };

/** Each pattern and what takes its place. JSON stays JSON. */
const VALUES: readonly (readonly [RegExp, string])[] = [
  // Times. A table is as wide as its longest one.
  [/\d{4}-\d\d-\d\dT\d\d:\d\d(?::\d\d(?:\.\d+)?)?Z/g, "<time>"],
  [/\d{4}-\d\d-\d\d \d\d:\d\d(?::\d\d)?/g, "<minute>"],
  [/\((?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day, /g, "(<weekday>, "],
  [/(?:\d+ (?:s|min|h)|\d+ (?:second|minute)s?) ago|just now/g, "<ago>"],
  // A reservation is an estimate of the prompt, which has paths of the machine.
  [/Up to [\d,]+ tokens more/g, "Up to <count> tokens more"],
  [/(<ago>|CHANGED) {2,}/g, "$1  "],
  [/127\.0\.0\.1:\d+\/#t=[\da-f]{64}/g, "127.0.0.1:<port>/#t=<ticket>"],
  // Durations.
  [/^(Reply \([\w-]+\)|Result: [\w-]+, from [\w-]+), \d+ ms/gm, "$1, <number> ms"],
  [/[\d.]+ s waiting for the model, [\d.]+ s in commands/g, "<number> s waiting for the model, <number> s in commands"],
  [/"(durationMs|modelMs|commandMs|modelWaitMs)":\d+(?:\.\d+)?/g, '"$1":"<number>"'],
  [/\b(modelMs|commandMs|pid)=\d+/g, "$1=<number>"],
  // Numbers of the machine.
  [/\b(pid|process) \d+/g, "$1 <number>"],
  [/^( {2}memory +)\d+ MB/gm, "$1<number> MB"],
  [/delay p50 [\d.]+ ms, p99 [\d.]+ ms, max [\d.]+ ms/g, "delay p50 <number> ms, p99 <number> ms, max <number> ms"],
  [/"(p50|p99|max)":[\d.]+/g, '"$1":"<number>"'],
  [/(<time>) \(\d+ (?:s|min)\)/g, "$1 (<span>)"],
  [/[\d.]+ [GTM]B free/g, "<number> free"],
  [/^Waiting for the steps under way, at most \d+ s …\n/gm, ""],
  // Without a strict cage a line of advice follows.
  [/^((?: {2}|✓ )(cage|sandbox) +).*(?:\n {15}.*)*/gm, "$1<$2>"],
  [/\{"check":"(cage|sandbox)",[^}]*\}/g, '{"check":"$1"}'],
  [/"(cage|sandbox)":\{[^}]*\}/g, '"$1":"<$1>"'],
  // Code asks first where the cage is not strict.
  [/^( *(?:run_code|execute_python_file) +ready .*)asks first/gm, "$1restorable"],
  [/("name":"(?:run_code|execute_python_file)",.{0,1500}?"risk":)"asks first"/g, '$1"restorable"'],
  [/"(pid|rssBytes)":\d+/g, '"$1":"<number>"'],
  [/127\.0\.0\.1:(?!11434)\d{5}/g, "127.0.0.1:<port>"],
  // A prompt has the time in it, with the name of the day.
  [/(attempt \d+), [\d,]+ tokens, \$[\d.]+ reserved/g, "$1, <number> tokens, <number> reserved"],
  [/(the next request (?:takes|costs) at least) [\d.]+/g, "$1 <number>"],
  [/(without a known end: up to) [\d,]+ tokens, \$[\d.]+/g, "$1 <number> tokens, <number>"],
  [/"(reservedTokens|reservedUsd)":[\d.]+/g, '"$1":"<number>"'],
  // Replies cost less than a cent here: an agent that spent more has reservations of requests without an answer.
  [/"spentUsd":0\.0[1-9]\d*/g, '"spentUsd":"<number>"'],
  [/"score":(\d+\.\d{3})\d*/g, '"score":$1'],
  // Leases: how often a host took the agent in hand.
  [/"epoch":\d+/g, '"epoch":"<number>"'],
  // Hashes and marks.
  [/"(\w*[hH]ash|sha256|sha|\w+Sha)":"[0-9a-f]{8,64}/g, '"$1":"<hash>'],
  [/\b[0-9a-f]{64}\b/g, "<hash>"],
  [/(goald-home-)[0-9a-f]{8}/g, "$1<hash>"],
  [/\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b/g, "<uuid>"],
  [/(goald-replay-)\w{6}\b/g, "$1<mark>"],
  [/(data|words)-[a-z0-9]{5,9}(?=>)/g, "$1-<mark>"],
  [/goald-demo-\w{6}/g, "goald-demo-<letters>"],
  // A line that was cut at its full width is cut before what a longer number pushes out.
  [/^(\d+ {2}<time>.*"<number>".{60}).*…$/gm, "$1…"],
];

function normalise(text: string, { home, userHome, cwd }: Goald): string {
  const places: readonly (readonly [string, string])[] = [
    [home, "<home>"],
    [userHome, "<user>"],
    [cwd, "<cwd>"],
    [process.execPath, "<node>"],
    [CHECKOUT, "<checkout>"],
    [tmpdir(), "<tmp>"],
    [VERSION, "<version>"],
    [process.version.slice(1), "<node version>"],
  ];
  const placed = places.reduce((before, [place, name]) => before.replaceAll(place, name), text);
  return VALUES.reduce((before, [pattern, name]) => before.replaceAll(pattern, name), withoutCageWarning(placed));
}

/** As on a machine with a strict cage: doctor marks any other with "!", and counts a warning. */
function withoutCageWarning(text: string): string {
  if (!/^! cage |"check":"cage","level":"warning"/m.test(text)) return text;
  return text
    .replace(/^! cage /m, "✓ cage ")
    .replace(/^(\d+ errors?), (\d+) warnings?\.$/m, (_line, errors: string, count: string) =>
      sumUp(errors, Number(count) - 1),
    )
    .replace(/"warnings":(\d+)/, (_field, count: string) => `"warnings":${Number(count) - 1}`);
}

const sumUp = (errors: string, warnings: number): string =>
  errors === "0 errors" && warnings === 0
    ? "No problems found."
    : `${errors}, ${warnings} ${warnings === 1 ? "warning" : "warnings"}.`;

/** For calls that tell how an agent stands while it goes on: it may be further already. */
const withoutStanding = (text: string): string =>
  text
    .replaceAll(
      /\b([\w-]+) is (?:running|waiting|paused|completed)[^(\n]* \(step \d+\)\./g,
      "$1 is <standing> (step <number>).",
    )
    .replaceAll(/"(state|lastCommand|reason|closing)":(?:"(?:[^"\\]|\\.)*"|null)/g, '"$1":"<standing>"')
    .replaceAll(/"(standing|now)":\{[^{}]*\}/g, '"$1":"<standing>"')
    .replaceAll(/"(step|tokens|costUsd|spentUsd|head)":[\d.]+/g, '"$1":"<number>"');

// The model behind the transcripts: what an agent does follows from its name.

type CommandCall = ReturnType<typeof write>;

const read = (file: string): CommandCall => ({ name: "read_file", args: { file } });
const bake = (what: string): CommandCall => ({ name: "bake", args: { what } });
const ask = (question: string): CommandCall => ({ name: "ask_user", args: { question } });

const WORK: Readonly<Record<string, readonly CommandCall[]>> = {
  Baker: [
    write("notes/hours.md", "The shop opens at eight.\nIt closes at six.\n"),
    append("flour\n", "list.txt"),
    read("notes/hours.md"),
    read("missing.md"),
    write("notes/hours.md", "The shop opens at nine.\nIt closes at six.\n"),
    { name: "delete_file", args: { file: "list.txt" } },
    append("- bread\n- rolls\n", "plan.md"),
  ],
  Clerk: [append("one\n", "ledger.txt"), append("two\n", "ledger.txt"), append("three\n", "ledger.txt")],
  Asker: [ask("Which city?"), write("city.txt", "The city is known.\n")],
  Miller: [bake("bread"), bake("rolls"), bake("cake")],
  Lead: [startAgent("Ann"), write("done.txt", "Ann is done.\n")],
  Ann: [write("ann.txt", "Ann was here.\n")],
};

/** "Babbler" never gives a usable reply, and "Stuck" gets nothing done. */
export function goldenModel(request: ChatRequest): string {
  const name = nameIn(request);
  if (name === "Babbler") return "I would rather talk about the weather.";
  if (name === "Stuck") return replyWith({ name: "do_nothing", args: {} });
  return subagentModel(WORK)(request);
}

/** The call that runs an agent of that name. */
export const runOf = (name: string): readonly string[] => [
  ...["run", "--name", name, "--role", "an assistant that helps a bakery"],
  ...["-g", "Write down the hours", "-g", `Make the list of ${name}`],
];

/** A command that asks first, and then takes until there is a file "open.txt" in the workspace. */
export const BAKE = `export default {
  name: "bake", label: "Bake", summary: "Bakes.", effect: "at-most-once", timeoutMs: 60000,
  args: { type: "object", required: ["what"], properties: { what: { type: "string", description: "what" } } },
  annotations: { readOnly: false, destructive: false, idempotent: false, openWorld: true },
  async run({ what }, { workspace }) {
    while (!(await workspace.stat("open.txt"))) await new Promise((resolve) => setTimeout(resolve, 20));
    return { status: "ok", text: "Baked: " + what, source: "goald", artifacts: [] };
  },
};
`;
