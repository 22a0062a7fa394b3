/**
 * agent-file.ts -- an agent from a YAML file in AutoGPT's form: ai_name, ai_role, ai_goals.
 *
 * The file may come from anywhere, so it is small, plain data: aliases (which can unfold into gigabytes),
 * tags and a second document are refused. Every complaint names the line.
 */
import type { Document, Node, YAMLError } from "yaml";
import { GoaldError, toError } from "#core/errors.ts";
import { clean } from "#util/clean.ts";
import { type AgentDraft, MAX_GOALS } from "./agent-spec.ts";
import { nearestName } from "./nearest.ts";
import { readTextFile } from "./read-text-file.ts";

const MAX_BYTES = 64 * 1024;
const NAMES = ["ai_name", "ai_role", "ai_goals"];

export interface AgentFile extends AgentDraft {
  /** What stands in the file and has no effect, each a sentence. */
  readonly notes: readonly string[];
}

/**
 * Throws GOALD_NOT_FOUND when there is no file, GOALD_USAGE for more than five goals, GOALD_CONFIG for
 * everything else. Lengths are left to `validateAgent`: flags may replace what stands in the file.
 */
export async function readAgentFile(path: string): Promise<AgentFile> {
  const text = await readText(path);
  const { LineCounter, parseDocument, visit } = await import("yaml");
  const lines = new LineCounter();
  const refuse: Refuse = (problem, offset) => {
    const line = offset === undefined ? "" : `, line ${lines.linePos(offset).line}`;
    return new GoaldError("GOALD_CONFIG", `${path}${line}: ${clean(problem)}`, { hint: EXAMPLE });
  };
  const document = parseOrRefuse(() => parseDocument(text, { lineCounter: lines, prettyErrors: false }), refuse);
  const [wrong] = [...document.errors, ...document.warnings];
  if (wrong) throw refuse(`this is not the YAML of an agent: ${wordsOf(wrong)}.`, wrong.pos[0]);
  visit(document, {
    Alias: (_key, node) => {
      throw refuse(`aliases (*${node.source}) are not allowed here; write the text out.`, node.range?.[0]);
    },
  });
  return agentOf(document, refuse);
}

const EXAMPLE =
  "An agent file looks like this:\n  ai_name: Foo\n  ai_role: an assistant that plans meals\n  ai_goals:\n    - Plan a week";

type Refuse = (problem: string, offset?: number) => GoaldError;

async function readText(path: string): Promise<string> {
  const file = await readTextFile(path, MAX_BYTES).catch((thrown: unknown) => {
    throw new GoaldError("GOALD_CONFIG", `${path} cannot be read: ${toError(thrown).message}.`, { cause: thrown });
  });
  if (!file) throw new GoaldError("GOALD_NOT_FOUND", `There is no file ${path}.`, { hint: EXAMPLE });
  return file.text;
}

/** Thousands of brackets in each other exhaust the parser's stack. */
function parseOrRefuse<T>(parse: () => T, refuse: Refuse): T {
  try {
    return parse();
  } catch (thrown) {
    throw refuse(`this cannot be read as YAML: ${toError(thrown).message}.`);
  }
}

/** The parser's own words on a second document are for those who program with it. */
const wordsOf = ({ code, message }: YAMLError): string =>
  code === "MULTIPLE_DOCS" ? "a second document begins here, and a file holds one agent" : message;

// ---------------------------------------------------------------- the three values

function agentOf(document: Document, refuse: Refuse): AgentFile {
  const root = document.contents as Node | null;
  const value: unknown = document.toJS();
  if (typeof value !== "object" || value === null || Array.isArray(value))
    throw refuse(`expected ${NAMES.join(", ")}, got ${kindOf(value)}.`, root?.range?.[0]);
  const at = (...path: (string | number)[]): number | undefined =>
    (document.getIn(path, true) as Node | undefined)?.range?.[0];
  const given = new Map<string, unknown>(Object.entries(value));
  const textOf = (name: string): string => {
    const text = given.get(name);
    if (typeof text === "string" && text.trim() !== "") return text;
    if (!given.has(name)) throw refuse(`${name} is missing${insteadOf(name, [...given.keys()])}.`);
    throw refuse(`${name} must be a text, got ${kindOf(text)}.`, at(name));
  };
  return {
    name: textOf("ai_name"),
    role: textOf("ai_role"),
    goals: goalsOf(given, at, refuse),
    notes: [...given.keys()].filter((name) => !NAMES.includes(name)).map(noteOn),
  };
}

function goalsOf(
  given: ReadonlyMap<string, unknown>,
  at: (...path: (string | number)[]) => number | undefined,
  refuse: Refuse,
): readonly string[] {
  const goals = given.get("ai_goals");
  if (!given.has("ai_goals")) throw refuse(`ai_goals is missing${insteadOf("ai_goals", [...given.keys()])}.`);
  if (!Array.isArray(goals)) throw refuse(`ai_goals must be a list of texts, got ${kindOf(goals)}.`, at("ai_goals"));
  if (goals.length === 0) throw refuse("ai_goals must hold at least one goal.", at("ai_goals"));
  if (goals.length > MAX_GOALS)
    throw new GoaldError(
      "GOALD_USAGE",
      refuse(`ai_goals holds ${goals.length} goals; an agent has up to ${MAX_GOALS}.`, at("ai_goals", MAX_GOALS))
        .message,
      {
        hint: "Join some of them, or give the rest to another agent.",
      },
    );
  for (const [index, goal] of goals.entries())
    if (typeof goal !== "string" || goal.trim() === "")
      throw refuse(
        `goal ${index + 1} must be a text, got ${kindOf(goal)}${typeof goal === "object" && goal ? "; put it in quotes" : ""}.`,
        at("ai_goals", index),
      );
  return goals;
}

function kindOf(value: unknown): string {
  if (value === null || value === undefined) return "nothing";
  if (typeof value === "string") return value.trim() === "" ? "an empty text" : "one text";
  if (Array.isArray(value)) return "a list";
  return typeof value === "object" ? "names and values" : `the ${typeof value} ${String(value)}; put it in quotes`;
}

function insteadOf(name: string, given: readonly string[]): string {
  const nearest = nearestName(
    name,
    given.filter((other) => !NAMES.includes(other)),
  );
  return nearest ? ` (there is ${JSON.stringify(nearest.slice(0, 80))})` : "";
}

const noteOn = (name: string): string =>
  name === "api_budget"
    ? "api_budget is ignored. To limit what the agent may spend, say so when it is run: --budget USD."
    : `${clean(JSON.stringify(name.slice(0, 80)))} is not part of an agent and is ignored.`;
