/**
 * agent-file.ts -- reads an agent from a YAML file in AutoGPT's form: ai_name, ai_role, ai_goals, and its checks:
 * ai_checks. The file may come from anywhere, so it must be small and plain: aliases (which can expand to gigabytes),
 * tags and a second document are refused. Errors name the line.
 */
import { realpath } from "node:fs/promises";
import { dirname, join, sep } from "node:path";
import type { Document, Node, YAMLError } from "yaml";
import { GoaldError, toError } from "#core/errors.ts";
import { withApproval } from "#core/goal-check.ts";
import { nearestName } from "#util/nearest-name.ts";
import { clean } from "#util/outside-text.ts";
import { type AgentDraft, findPathProblem, MAX_CHECK_BYTES, MAX_GOALS } from "./agent-spec.ts";
import { readConfigFile, readTextFile } from "./private-file.ts";
import { readChecks } from "./read-checks.ts";

const NAMES = ["ai_name", "ai_role", "ai_goals"];
/** May be left out. */
const CHECKS = "ai_checks";

export interface AgentFile extends AgentDraft {
  /** One sentence per entry of the file that has no effect. */
  readonly notes: readonly string[];
}

/**
 * Throws GOALD_NOT_FOUND when there is no file, GOALD_USAGE for more than five goals, GOALD_CONFIG for all other
 * problems. It does not check lengths, because flags may replace these values before `validateAgent`.
 */
export async function readAgentFile(path: string): Promise<AgentFile> {
  const file = await readConfigFile(path, "");
  if (!file) throw new GoaldError("GOALD_NOT_FOUND", `There is no file ${path}.`, { hint: EXAMPLE });
  const { LineCounter, parseDocument, visit } = await import("yaml");
  const lines = new LineCounter();
  const refuse: Refuse = (problem, offset) => {
    const line = offset === undefined ? "" : `, line ${lines.linePos(offset).line}`;
    return new GoaldError("GOALD_CONFIG", `${path}${line}: ${clean(problem)}`, { hint: EXAMPLE });
  };
  const options = { lineCounter: lines, prettyErrors: false };
  // Thousands of nested brackets exhaust the parser's stack, which throws.
  const document = await Promise.try(() => parseDocument(file.text, options)).catch((thrown) => {
    throw refuse(`this cannot be read as YAML: ${toError(thrown).message}.`);
  });
  const [wrong] = [...document.errors, ...document.warnings];
  if (wrong) throw refuse(`this is not the YAML of an agent: ${describeYamlError(wrong)}.`, wrong.pos[0]);
  visit(document, {
    Alias: (_key, node) => {
      throw refuse(`aliases (*${node.source}) are not allowed here; write the text out.`, node.range?.[0]);
    },
  });
  return readAgent(document, path, refuse);
}

const EXAMPLE =
  "An agent file looks like this:\n  ai_name: Chef\n  ai_role: an assistant that plans meals\n  ai_goals:\n    - Plan a week";

type Refuse = (problem: string, offset?: number) => GoaldError;

/** Replaces the parser's message on a second document, which is written for programmers. */
const describeYamlError = ({ code, message }: YAMLError): string =>
  code === "MULTIPLE_DOCS" ? "a second document begins here, and a file holds one agent" : message;

async function readAgent(document: Document, path: string, refuse: Refuse): Promise<AgentFile> {
  const root = document.contents as Node | null;
  const value: unknown = document.toJS();
  if (typeof value !== "object" || value === null || Array.isArray(value))
    throw refuse(`expected ${NAMES.join(", ")}, got ${describeKind(value)}.`, root?.range?.[0]);
  const at = (...path: (string | number)[]): number | undefined =>
    (document.getIn(path, true) as Node | undefined)?.range?.[0];
  const given = new Map<string, unknown>(Object.entries(value));
  const readValue = (name: string): string => {
    const text = given.get(name);
    if (typeof text === "string" && text.trim() !== "") return text;
    if (!given.has(name)) throw refuse(`${name} is missing${suggestGiven(name, [...given.keys()])}.`);
    throw refuse(`${name} must be a text, got ${describeKind(text)}.`, at(name));
  };
  const name = readValue("ai_name");
  const role = readValue("ai_role");
  const goals = readGoals(given, at, refuse);
  const unknown = [...given.keys()].filter((name) => ![...NAMES, CHECKS].includes(name));
  const misspelt = unknown.find((name) => nearestName(name, [CHECKS]));
  if (misspelt !== undefined)
    throw refuse(`there is no ${misspelt.slice(0, 80)}; did you mean ${CHECKS}?`, at(misspelt));
  const notes = unknown.map(noteIgnored);
  if (!given.has(CHECKS)) return { name, role, goals, notes };
  const checks = await readChecks({
    entries: given.get(CHECKS) ?? [],
    goalCount: goals.length,
    readText: (file) => readBeside(path, file),
    refuse: (problem, place) => refuse(`${CHECKS}, ${problem}.`, at(CHECKS, ...place) ?? at(CHECKS)),
  });
  return { name, role, goals, checks: withApproval(checks, true), notes };
}

/**
 * The file must lie beside the agent file or in a folder below it. Agent files are passed on: one from somebody else must not
 * read the person's other files, by a path or by a link.
 */
async function readBeside(agentFile: string, path: string): Promise<string> {
  const folder = await realpath(dirname(agentFile));
  const file = await realpath(join(folder, path)).catch(() => undefined);
  if (findPathProblem(path) || (file !== undefined && !file.startsWith(folder.endsWith(sep) ? folder : folder + sep)))
    throw new Error("it must be a file beside the agent file");
  const found = file === undefined ? undefined : await readTextFile(file, MAX_CHECK_BYTES);
  if (!found) throw new Error("there is no such file");
  return found.text;
}

function readGoals(
  given: ReadonlyMap<string, unknown>,
  at: (...path: (string | number)[]) => number | undefined,
  refuse: Refuse,
): readonly string[] {
  const goals = given.get("ai_goals");
  if (!given.has("ai_goals")) throw refuse(`ai_goals is missing${suggestGiven("ai_goals", [...given.keys()])}.`);
  if (!Array.isArray(goals))
    throw refuse(`ai_goals must be a list of texts, got ${describeKind(goals)}.`, at("ai_goals"));
  if (goals.length === 0) throw refuse("ai_goals must hold at least one goal.", at("ai_goals"));
  if (goals.length > MAX_GOALS)
    throw new GoaldError(
      "GOALD_USAGE",
      refuse(`ai_goals holds ${goals.length} goals; an agent has up to ${MAX_GOALS}.`, at("ai_goals", MAX_GOALS))
        .message,
      { hint: "Join some of them, or give the rest to another agent." },
    );
  for (const [index, goal] of goals.entries())
    if (typeof goal !== "string" || goal.trim() === "")
      throw refuse(
        `goal ${index + 1} must be a text, got ${describeKind(goal)}${typeof goal === "object" && goal ? "; put it in quotes" : ""}.`,
        at("ai_goals", index),
      );
  return goals;
}

function describeKind(value: unknown): string {
  if (value === null || value === undefined) return "nothing";
  if (typeof value === "string") return value.trim() === "" ? "an empty text" : "one text";
  if (Array.isArray(value)) return "a list";
  return typeof value === "object" ? "names and values" : `the ${typeof value} ${String(value)}; put it in quotes`;
}

function suggestGiven(name: string, given: readonly string[]): string {
  const others = given.filter((other) => !NAMES.includes(other));
  const nearest = nearestName(name, others);
  return nearest ? ` (there is ${JSON.stringify(nearest.slice(0, 80))})` : "";
}

const noteIgnored = (name: string): string =>
  name === "api_budget"
    ? "api_budget is ignored. To limit what the agent may spend, run it with: --budget USD"
    : `${clean(JSON.stringify(name.slice(0, 80)))} is not part of an agent and is ignored.`;
