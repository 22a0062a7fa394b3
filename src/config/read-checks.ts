/**
 * read-checks.ts -- reads the checks of goals as people write them: a list of entries, each with one test. A schema or
 * a piece of code may be in a file of its own, which is read at once. An entry with several tests of a file becomes
 * several checks.
 */
import { basename } from "node:path";
import type { GoaldError } from "#core/errors.ts";
import type { GoalCheck, GoalTest } from "#core/goal-check.ts";
import { isRecord, parseJson } from "#util/json.ts";
import { nearestName } from "#util/nearest-name.ts";
import { findCheckProblem } from "./agent-spec.ts";

/** Leads to a value in the list of entries. */
type At = readonly (string | number)[];

export interface CheckEntries {
  readonly entries: unknown;
  readonly goalCount: number;
  /** Reads a schema or a piece of code. Throws an Error with the reason in words. */
  readText(path: string): Promise<string>;
  refuse(problem: string, at: At): GoaldError;
}

/** Rejects with what `refuse` returns for the first wrong entry. */
export async function readChecks({ entries, ...source }: CheckEntries): Promise<readonly GoalCheck[]> {
  if (!Array.isArray(entries)) throw source.refuse(`the checks must be a list, got ${typeof entries}`, []);
  const checks: GoalCheck[] = [];
  for (const [index, value] of entries.entries()) checks.push(...(await new Entry(value, index, source).read()));
  return checks;
}

/** The words that begin a test, each with the words that may stand beside it. */
const WORDS: Readonly<Record<string, readonly string[]>> = {
  judge: ["file", "files"],
  url: ["status"],
  python: [],
  code_file: [],
  file: ["contains", "min_chars", "schema"],
};
const ALL_WORDS = [...new Set(["goal", ...Object.entries(WORDS).flatMap(([word, more]) => [word, ...more])])];

class Entry {
  readonly #given: Readonly<Record<string, unknown>>;
  readonly #index: number;
  readonly #source: Omit<CheckEntries, "entries">;

  constructor(value: unknown, index: number, source: Omit<CheckEntries, "entries">) {
    this.#index = index;
    this.#source = source;
    if (!isRecord(value)) throw this.#refuse("a check has names and values, such as {file: plan.md}");
    this.#given = value;
  }

  async read(): Promise<readonly GoalCheck[]> {
    const word = this.#findWord();
    const goal = this.#has("goal") ? this.#number("goal") - 1 : null;
    const checks = (await this.#tests(word)).map((test) => ({ goal, test }));
    for (const check of checks) {
      const problem = findCheckProblem(check, this.#source.goalCount);
      if (problem !== undefined) throw this.#refuse(problem.replace(/\.$/, ""));
    }
    return checks;
  }

  #findWord(): string {
    const names = Object.keys(this.#given);
    for (const name of names) if (!ALL_WORDS.includes(name)) throw this.#refuse(describeUnknown(name), name);
    const word = Object.keys(WORDS).find((each) => names.includes(each));
    if (word === undefined) throw this.#refuse(`a check has one of ${Object.keys(WORDS).toReversed().join(", ")}`);
    const other = names.find((name) => name !== "goal" && name !== word && !WORDS[word]?.includes(name));
    if (other !== undefined)
      throw this.#refuse(`${other} does not go with ${word}; give it an entry of its own`, other);
    return word;
  }

  async #tests(word: string): Promise<readonly GoalTest[]> {
    switch (word) {
      case "judge":
        return [{ kind: "judge", question: this.#text("judge"), paths: this.#paths() }];
      case "url":
        return [
          { kind: "url", url: this.#text("url"), ...(this.#has("status") ? { status: this.#number("status") } : {}) },
        ];
      case "python":
        return [{ kind: "code", code: this.#text(word) }];
      case "code_file":
        return [await this.#codeFile(this.#text("code_file"))];
      default:
        return this.#fileTests(this.#text("file"));
    }
  }

  /** A file that contains something exists, so its existence is a test only without others. */
  async #fileTests(path: string): Promise<readonly GoalTest[]> {
    const tests: GoalTest[] = [];
    if (this.#has("contains")) for (const text of this.#texts("contains")) tests.push({ kind: "contains", path, text });
    if (this.#has("min_chars")) tests.push({ kind: "length", path, min: this.#number("min_chars") });
    if (this.#has("schema")) tests.push({ kind: "schema", path, schema: await this.#schema() });
    return tests.length > 0 ? tests : [{ kind: "file", path }];
  }

  #paths(): readonly string[] {
    const paths = [
      ...(this.#has("file") ? [this.#text("file")] : []),
      ...(this.#has("files") ? this.#texts("files") : []),
    ];
    if (paths.length === 0) throw this.#refuse("judge needs file or files: what the question is about", "judge");
    return paths;
  }

  async #codeFile(path: string): Promise<GoalTest> {
    if (!path.endsWith(".py")) throw this.#refuse("code_file must be a Python file, such as check.py", "code_file");
    return { kind: "code", code: await this.#fileText("code_file", path), file: basename(path) };
  }

  /** Schemas of other drafts are read as 2020-12, so the line that names the draft is left out. */
  async #schema(): Promise<Readonly<Record<string, unknown>>> {
    const given = this.#given.schema;
    const schema = typeof given === "string" ? parseJson(await this.#fileText("schema", given)) : given;
    if (!isRecord(schema))
      throw this.#refuse(
        typeof given === "string" ? `${given} holds no JSON object` : "schema must be a schema or the path of one",
        "schema",
      );
    const { $schema: _, ...rules } = schema;
    return rules;
  }

  async #fileText(name: string, path: string): Promise<string> {
    try {
      return await this.#source.readText(path);
    } catch (thrown) {
      throw this.#refuse(`${path} cannot be read: ${(thrown as Error).message}`, name);
    }
  }

  #has(name: string): boolean {
    return Object.hasOwn(this.#given, name);
  }

  #text(name: string): string {
    const value = this.#given[name];
    if (typeof value === "string" && value.trim() !== "") return value;
    throw this.#refuse(`${name} must be a text, got ${describeValue(value)}`, name);
  }

  #texts(name: string): readonly string[] {
    const value = this.#given[name];
    const texts: readonly unknown[] = Array.isArray(value) ? value : [value];
    const isGood = (text: unknown): text is string => typeof text === "string" && text.trim() !== "";
    if (texts.length > 0 && texts.every(isGood)) return texts;
    throw this.#refuse(`${name} must be a text or a list of texts, got ${describeValue(value)}`, name);
  }

  #number(name: string): number {
    const value = this.#given[name];
    if (typeof value === "number" && Number.isInteger(value) && value >= 1) return value;
    throw this.#refuse(`${name} must be a whole number from 1, got ${describeValue(value)}`, name);
  }

  #refuse(problem: string, name?: string): GoaldError {
    return this.#source.refuse(`check ${this.#index + 1}: ${problem}`, [
      this.#index,
      ...(name === undefined ? [] : [name]),
    ]);
  }
}

function describeUnknown(name: string): string {
  const nearest = nearestName(name, ALL_WORDS);
  return `${JSON.stringify(name.slice(0, 80))} is not part of a check${nearest ? `; did you mean ${nearest}?` : ""}`;
}

const describeValue = (value: unknown): string =>
  value === null || value === undefined ? "nothing" : JSON.stringify(value).slice(0, 80);
