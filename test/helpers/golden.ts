/**
 * golden.ts -- transcripts of the command line, kept as text in test/data/golden.
 *
 * `GOLDEN=write npm test -- test/cli/golden` writes the files anew; read the difference before you commit it.
 */
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Ended, Goald, StartOptions } from "./goald.ts";
import { normalise, withoutStanding } from "./golden-values.ts";

export const GOLDEN_FOLDER = fileURLToPath(new URL("../data/golden/", import.meta.url));
const LINE_LENGTH = 120;

export interface Transcript {
  /** All calls so far, with what they printed. */
  readonly text: string;
  /** One call a line, in one process for all of them. `'two words'` are one argument, `"` stays as it is. */
  ask(calls: string, options?: Pick<StartOptions, "env">): Promise<void>;
  /** The same where the agent goes on meanwhile: how it stands is left out. */
  askWhileGoing(calls: string): Promise<void>;
  /** The same by the binary, a process for each call. */
  run(calls: string, options?: StartOptions): Promise<void>;
  /** A call that was made elsewhere. */
  add(call: string, ended: Ended): void;
  /** A line that explains what comes. */
  note(words: string): void;
}

export function openTranscript(goald: Goald): Transcript {
  const parts: string[] = [];
  const add = (call: string, ended: Ended): void => void parts.push(describeCall(call, ended, goald));
  return {
    get text() {
      return `${parts.join("\n")}`;
    },
    ask: async (calls, options) => {
      for (const call of linesIn(calls)) add(call, await goald.ask(wordsIn(call, goald), options));
    },
    askWhileGoing: async (calls) => {
      for (const call of linesIn(calls)) {
        const ended = await goald.ask(wordsIn(call, goald));
        add(call, { ...ended, stdout: withoutStanding(ended.stdout) });
      }
    },
    run: async (calls, options) => {
      for (const call of linesIn(calls)) add(call, await goald.run(wordsIn(call, goald), options));
    },
    add,
    note: (words) => void parts.push(`# ${words}\n`),
  };
}

/** A call as the files show it: what was typed, standard output, standard error, the exit code. */
export function describeCall(call: string, ended: Ended, goald: Pick<Goald, "home" | "userHome" | "cwd">): string {
  const { stdout, stderr, code, signal } = ended;
  const show = (text: string): string => readable(normalise(text, goald));
  const trouble = stderr === "" ? "" : `[stderr]\n${show(stderr)}`;
  return `$ goald ${call}\n${show(stdout)}${trouble}[exit ${code ?? signal}]\n`;
}

/** What was frozen; with GOLDEN=write it becomes `text` first. */
export async function frozen(name: string, text: string): Promise<string> {
  const file = join(GOLDEN_FOLDER, `${name}.txt`);
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
