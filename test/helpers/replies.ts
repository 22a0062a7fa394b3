/**
 * replies.ts -- the argument schemas of AutoGPT 0.2.1's twenty-one commands, as test data.
 *
 * The commands bring their own schemas; these test the reply reader with the whole list that models were trained on,
 * also where a command is not built.
 */
import { readFileSync } from "node:fs";
import { jsonrepair } from "jsonrepair";
import type { CommandCall } from "#core/call.ts";
import type { ArgsSchema, JsonSchema } from "#core/command.ts";
import { createCallValidator, type ReplyCatalogue } from "#reply/check-call.ts";
import { findCall } from "#reply/find-call.ts";

const textWith =
  (limits: Omit<JsonSchema, "type" | "description">) =>
  (meaning: string): JsonSchema => ({ type: "string", description: meaning, ...limits });
const words = textWith({ minLength: 1, maxLength: 65_536, pattern: "\\S" });
const path = textWith({ minLength: 1, maxLength: 4_096, pattern: "^[^\\u0000]+$" });
const content = textWith({ maxLength: 1_048_576 });
const list = (meaning: string): JsonSchema => ({
  type: "array",
  description: meaning,
  items: { type: "string", minLength: 1 },
  minItems: 1,
  maxItems: 100,
});
const key: JsonSchema = { type: "integer", description: "Agent key", minimum: 0 };
const args = (properties: Record<string, JsonSchema>): ArgsSchema => ({
  type: "object",
  properties,
  required: Object.keys(properties),
});

const seedSchemas: Readonly<Record<string, ArgsSchema>> = {
  google: args({ input: words("search") }),
  browse_website: args({ url: words("url"), question: words("what_you_want_to_find_on_website") }),
  start_agent: args({ name: words("name"), task: words("short_task_desc"), prompt: words("prompt") }),
  message_agent: args({ key, message: words("message") }),
  list_agents: args({}),
  delete_agent: args({ key }),
  clone_repository: args({ repository_url: words("url"), clone_path: path("directory") }),
  write_to_file: args({ file: path("file"), text: content("text") }),
  read_file: args({ file: path("file") }),
  append_to_file: args({ file: path("file"), text: content("text") }),
  delete_file: args({ file: path("file") }),
  search_files: args({ directory: path("directory") }),
  evaluate_code: args({ code: content("full_code_string") }),
  improve_code: args({ suggestions: list("list_of_suggestions"), code: content("full_code_string") }),
  write_tests: args({ code: content("full_code_string"), focus: list("list_of_focus_areas") }),
  execute_python_file: args({ file: path("file") }),
  generate_image: args({ prompt: words("prompt") }),
  send_tweet: args({ text: words("text") }),
  read_audio_from_file: args({ file: path("file") }),
  do_nothing: args({}),
  task_complete: args({ reason: words("reason") }),
};

const SIDE_EFFECTS: ReadonlySet<string> = new Set([
  "start_agent",
  "message_agent",
  "delete_agent",
  "clone_repository",
  "write_to_file",
  "append_to_file",
  "delete_file",
  "execute_python_file",
  "generate_image",
  "send_tweet",
]);

const REACHES_OUTSIDE = [
  "google",
  "browse_website",
  "evaluate_code",
  "improve_code",
  "write_tests",
  "read_audio_from_file",
];

export const seedCatalogue: ReplyCatalogue = {
  schemas: seedSchemas,
  hasSideEffect: (name) => SIDE_EFFECTS.has(name),
  isHarmless: (name) => !SIDE_EFFECTS.has(name) && !REACHES_OUTSIDE.includes(name),
  aliases: JSON.parse(readFileSync(new URL("../../config/aliases.json", import.meta.url), "utf8")),
};

// Good replies with seeded structural damage, to measure which damage misleads a reader.
//
// One to three edits outside the strings: a character lost, added or doubled, the end cut off, a fence, a sentence in
// front. A reader is right when it returns the original command, and wrong when it returns another one.

export interface Mutant {
  readonly text: string;
  readonly finishReason: "stop" | "length";
  readonly meant: CommandCall;
}

const THOUGHTS = {
  text: 'Compare "full" {beds} and [poly], then decide: soon',
  reasoning: "it's the player's arm\nthat matters",
  plan: "- read\n- write",
  criticism: "too slow",
  speak: "on it",
};

const CALLS: readonly CommandCall[] = [
  { name: "google", args: { input: 'stiff "poly" strings, 2024: {review}' } },
  { name: "browse_website", args: { url: "https://example.org/a?b=1#c", question: "which one's softest?" } },
  { name: "improve_code", args: { suggestions: ["types, first", 'no "any"'], code: 'print("x")\n' } },
  { name: "task_complete", args: { reason: 'the list, as "asked", is there' } },
  { name: "read_file", args: { file: "notes/a.txt" } },
  { name: "write_to_file", args: { file: "out/a.txt", text: 'one\ntwo "2", x: {y}\n\tend\\n' } },
  { name: "append_to_file", args: { file: "log.md", text: "- it's done: [ok], {really}" } },
  { name: "delete_file", args: { file: "old/b.txt" } },
  { name: "send_tweet", args: { text: 'They said "soft", we say: firm.' } },
  { name: "clone_repository", args: { repository_url: "https://example.org/r.git", clone_path: "vendor/r" } },
  { name: "start_agent", args: { name: "Ann", task: "find, then sort", prompt: "You are {Ann}." } },
  { name: "message_agent", args: { key: 7, message: "go on, please" } },
  { name: "delete_agent", args: { key: 12 } },
];

/** Yields the same mutants for the same seed. */
export function* mutants(seed: number, count: number): Generator<Mutant> {
  const below = randomIntegers(seed);
  for (let made = 0; made < count; made++) {
    const meant = CALLS[below(CALLS.length)] as CommandCall;
    const reply = below(2) ? { thoughts: THOUGHTS, command: meant } : { command: meant, thoughts: THOUGHTS };
    let symbols = symbolsOf(JSON.stringify(reply, null, below(2) ? 2 : 0));
    let finishReason: Mutant["finishReason"] = "stop";
    for (let edits = 1 + below(3); edits > 0; edits--) {
      const places = symbols.flatMap(({ place }, at) => (place === "content" ? [] : [at]));
      const at = places[below(places.length)] ?? 0;
      const edit = below(EDITS.length);
      symbols = EDITS[edit]?.(symbols, at, below) ?? symbols;
      if (edit === CUT) {
        finishReason = below(2) ? "length" : "stop";
        break;
      }
    }
    yield { text: symbols.map(({ char }) => char).join(""), finishReason, meant };
  }
}

/** Edits never change the content of a string. */
interface Symbol {
  readonly char: string;
  readonly place: "structure" | "content" | "end-quote";
}
type Edit = (symbols: readonly Symbol[], at: number, below: (limit: number) => number) => Symbol[];

const structure = (text: string): Symbol[] => [...text].map((char) => ({ char, place: "structure" }));
const CUT = 3;
const EDITS: readonly Edit[] = [
  (symbols, at) => symbols.toSpliced(at, 1),
  (symbols, at, below) =>
    symbols.toSpliced(
      symbols[at]?.place === "end-quote" ? at + 1 : at,
      0,
      ...structure("{}[],:\"' \n"[below(10)] as string),
    ),
  (symbols, at) => symbols.toSpliced(at, 0, symbols[at] as Symbol),
  (symbols, at) => (at === 0 ? structure(" ") : symbols.slice(0, at)),
  (symbols) => [...structure("```json\n"), ...symbols, ...structure("\n```")],
  (symbols) => [...structure("Sure {x}:\n"), ...symbols],
];

function symbolsOf(text: string): Symbol[] {
  let isInside = false;
  let isEscaped = false;
  return text.split("").map((char) => {
    const wasInside = isInside;
    if (char === '"' && !isEscaped) isInside = !isInside;
    isEscaped = wasInside && char === "\\" && !isEscaped;
    if (!wasInside) return { char, place: "structure" };
    return { char, place: isInside ? "content" : "end-quote" };
  });
}

/** Numerical Recipes' linear congruential generator. It uses the high bits, because the low ones repeat early. */
function randomIntegers(seed: number): (limit: number) => number {
  let state = seed >>> 0;
  return (limit) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * limit);
  };
}

interface Tally {
  mutants: number;
  right: number;
  wrong: number;
}

/** Counts right and wrong readings, separately for commands with side effects and read-only ones. */
export function tally(
  source: Iterable<Mutant>,
  hasSideEffect: (name: string) => boolean,
  read: (mutant: Mutant) => CommandCall | null,
): { readonly sideEffect: Tally; readonly readOnly: Tally } {
  const sideEffect: Tally = { mutants: 0, right: 0, wrong: 0 };
  const readOnly: Tally = { mutants: 0, right: 0, wrong: 0 };
  for (const mutant of source) {
    const counts = hasSideEffect(mutant.meant.name) ? sideEffect : readOnly;
    counts.mutants++;
    const call = read(mutant);
    if (call) counts[isSameCall(call, mutant.meant) ? "right" : "wrong"]++;
  }
  return { sideEffect, readOnly };
}

const isSameCall = (a: CommandCall, b: CommandCall): boolean => asText(a) === asText(b);
const asText = ({ name, args }: CommandCall): string => JSON.stringify([name, Object.entries(args).sort()]);

// Repairs the whole reply and runs the result, as is usual; the control of the measurements.

export function createNaiveReader(catalogue: ReplyCatalogue): (text: string) => CommandCall | null {
  const validator = createCallValidator(catalogue);
  return (text) => {
    try {
      const body = text.slice(text.search(/\{\s*"/)).replace(/(?:\n```)+$/, "");
      const value: unknown = JSON.parse(jsonrepair(body));
      const shape = findCall(
        Array.isArray(value) ? value.filter((item) => typeof item === "object") : value,
        validator.isName,
      );
      const checked = shape.kind === "call" ? validator.checkCall(shape.call, text) : null;
      return checked?.kind === "valid" ? checked.call : null;
    } catch {
      return null;
    }
  };
}
