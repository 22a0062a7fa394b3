/**
 * words.ts -- loads the words that the model reads from `prompts/`, and fills their `{{name}}` placeholders. A file
 * holds sections, `## name` and then its words. The shipped folder has every section; a file of the home replaces the
 * sections that it has, and is checked at load, before any money is spent. Filling is one pass: a `{{goals}}`
 * inside a value stays as it is.
 */
import { readFileSync } from "node:fs";
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { codeOf, GoaldError } from "#core/errors.ts";
import type { OutputMode } from "#core/event.ts";
import { clean } from "#util/outside-text.ts";

interface PromptTemplate {
  /** File and section, for error messages. */
  readonly place: string;
  readonly text: string;
}

/** One object per set of folders; it is a cache key of renderings. */
export type Words = Readonly<Record<TemplateName, PromptTemplate>>;

const MAX_FILE_CHARS = 100_000;

/**
 * Reads the folders in order, the shipped one first. Later folders replace single sections and may be missing. Throws
 * GOALD_TEMPLATE for a missing, unknown or unreadable file or section, and for missing or unknown placeholders.
 */
export async function loadWords(folders: readonly string[]): Promise<Words> {
  const found: Partial<Record<TemplateName, PromptTemplate>> = {};
  for (const folder of folders)
    for (const entry of await listEntries(folder)) {
      const file = findFile(entry, folder);
      for (const [name, template] of readSections(join(folder, entry), file)) {
        if (found[name]) checkTemplate(name, template, found[name]);
        found[name] = template;
      }
    }
  const missing = TEMPLATES.map(({ name }) => name).filter((name) => !found[name]);
  if (missing.length > 0)
    throw refuse(
      `The ${missing.map(describeTemplate).join(", the ")} cannot be found in ${folders[0] ?? "the prompts folder"}.`,
      "Install goald again, or restore the file.",
    );
  return found as Words;
}

/**
 * Replaces each `{{name}}` by its value. An empty value alone on its line removes the line and the blank lines below.
 * Throws GOALD_TEMPLATE for a name without a value.
 */
export function fillTemplate(template: PromptTemplate, values: Readonly<Record<string, string>> = {}): string {
  return template.text.replace(PLACEHOLDER, (_match, alone?: string, blank = "", inline?: string) => {
    const name = (alone ?? inline ?? "").replace(OPTIONAL, "").trim();
    const value = Object.hasOwn(values, name) ? values[name] : undefined;
    if (value === undefined) throw createPlaceholderError(template.place, name, Object.keys(values));
    return alone !== undefined && value === "" ? "" : value + blank;
  });
}

/** `{{name?}}` may be missing in the home's section. */
const PLACEHOLDER = /^\{\{([^{}\n]*)\}\}(\n+)|\{\{([^{}\n]*)\}\}/gm;
const OPTIONAL = /\?\s*$/;

/** For people. */
const README = "README.md";

/** Relative to the folder, without hidden files and copies of editors. */
async function listEntries(folder: string): Promise<readonly string[]> {
  try {
    const entries = await readdir(folder, { recursive: true });
    return entries.filter((entry) => !/(?:^|\/)\.|~$/.test(entry) && entry !== README).sort();
  } catch (error) {
    if (codeOf(error) === "ENOENT") return [];
    throw refuse(`The prompts folder ${folder} cannot be read.`, undefined, error);
  }
}

function findFile(entry: string, folder: string): PromptFile {
  const file = FILES.find((each) => `${each}.md` === entry);
  if (file) return file;
  throw refuse(
    `${join(folder, entry)} is not a prompt file. Known files: ${FILES.map((each) => `${each}.md`).join(", ")}.`,
    "Rename the file, or move it out of the prompts folder.",
  );
}

function readSections(path: string, file: PromptFile): ReadonlyMap<TemplateName, PromptTemplate> {
  const known: readonly string[] = SECTIONS[file];
  const [before = "", ...parts] = readText(path).split(/^## /m);
  if (removeComments(before, path) !== "")
    throw refuse(
      `${path} begins with words that belong to no section.`,
      `Put a line with the name of their section above them, such as "## ${known[0]}".`,
    );
  const found = new Map<TemplateName, PromptTemplate>();
  for (const part of parts) {
    const [heading = "", ...lines] = part.split("\n");
    const section = heading.trim();
    const place = `${path}, section ${section},`;
    if (!known.includes(section))
      throw refuse(
        `${place} is not known. Sections of this file: ${known.join(", ")}.`,
        "Rename or remove the section.",
      );
    const name = `${file}/${section}` as TemplateName;
    if (found.has(name)) throw refuse(`${place} is there twice.`, "Remove one of them.");
    found.set(name, { place, text: removeComments(lines.join("\n"), place) });
  }
  return found;
}

/** Reads at once: small files cost a sixth of the CPU that they cost one by one in the thread pool. */
function readText(path: string): string {
  let bytes: Uint8Array;
  try {
    bytes = readFileSync(path);
  } catch (error) {
    throw refuse(`The prompt ${path} cannot be read.`, undefined, error);
  }
  if (bytes.length > MAX_FILE_CHARS)
    throw refuse(`The prompt ${path} has ${bytes.length} bytes; expected at most ${MAX_FILE_CHARS}.`);
  return clean(new TextDecoder().decode(bytes));
}

/** Removes the comments at the top, which are for people. */
function removeComments(text: string, place: string): string {
  const rest = text.replace(/^(?:\s*<!--[\s\S]*?-->)+/, "").trim();
  if (rest.startsWith("<!--")) throw refuse(`The comment at the top of ${place} does not end with \`-->\`.`);
  return rest;
}

/** Refuses placeholders that the shipped template lacks, and the lack of one that it marks as needed. */
function checkTemplate(name: TemplateName, { place, text }: PromptTemplate, shipped: PromptTemplate): void {
  const known = listPlaceholders(shipped.text);
  const used = listPlaceholders(text);
  for (const placeholder of used.keys())
    if (!known.has(placeholder)) throw createPlaceholderError(place, placeholder, [...known.keys()]);
  for (const [placeholder, isOptional] of known)
    if (!isOptional && !used.has(placeholder))
      throw refuse(`${place} lacks {{${placeholder}}}.`, "Add it, or delete the section to use the shipped one.");
  // Servers refuse JSON mode unless the request mentions it.
  if (NEEDS_JSON.includes(name) && !text.includes("JSON"))
    throw refuse(`${place} must contain the word JSON: model servers require it in JSON mode.`);
}

/** By name, with true for those that may be missing. */
const listPlaceholders = (text: string): ReadonlyMap<string, boolean> =>
  new Map(
    Array.from(text.matchAll(PLACEHOLDER), ([, alone, , inline]) => {
      const written = alone ?? inline ?? "";
      return [written.replace(OPTIONAL, "").trim(), OPTIONAL.test(written)];
    }),
  );

const NEEDS_JSON: readonly TemplateName[] = ["formats/response-format", "advice/advice", "plan-form/system"];

function createPlaceholderError(place: string, name: string, known: readonly string[]): GoaldError {
  const listed = known.map((each) => `{{${each}}}`).join(", ");
  const rest = listed === "" ? "It must have no placeholder." : `Known are ${listed}.`;
  return refuse(`${place} has {{${name}}}, which is not a known placeholder. ${rest}`);
}

const refuse = (message: string, hint?: string, cause?: unknown): GoaldError =>
  new GoaldError("GOALD_TEMPLATE", message, { ...(hint ? { hint } : {}), ...(cause ? { cause } : {}) });

const SECTIONS = {
  system: [
    "system",
    "role",
    "outside-role",
    "constraints",
    "material",
    "recalled",
    "assistance",
    "no-assistance",
    "resources",
    "evaluation",
    "goal-checks",
    "all-goals-checks",
    "outside-goal",
  ],
  formats: ["response-format", "tool-format", "tool-commands", "json-answer", "tool-answer", "plan-tools", "end"],
  "last-message": [
    "first-command",
    "next-command",
    "folder",
    "found-methods",
    "limits-left",
    "helpers-at-work",
    "last-steps",
    "recalls",
  ],
  messages: [
    "result",
    "denial",
    "feedback",
    "task",
    "report",
    "problem",
    "spilled-text",
    "empty-text",
    "asked",
    "outside-job",
  ],
  turns: ["turn", "turn-calls", "turn-call", "turn-left-out", "turn-files"],
  plan: [
    "plan",
    "plan-rules",
    "plan-collapsed",
    "plan-outside",
    "plan-current",
    "plan-leaf",
    "plan-whole",
    "plan-idle",
    "plan-last-steps",
    "plan-start",
    "plan-check",
    "plan-done",
    "plan-hint-begin",
    "plan-hint-files",
    "plan-hint-act",
    "plan-hint-thoughts",
    "plan-hint-failed",
    "plan-hint-next",
    "plan-hint-result",
  ],
  subtask: ["subtask", "subtask-command", "subtask-context", "earlier-subtasks"],
  advice: ["advice", "advice-material", "advice-again"],
  questions: ["evaluate-code", "improve-code", "write-tests", "browse-website", "judge"],
  "plan-form": ["system", "next-action", "plan", "answer", "observation", "error"],
  react: [
    "system",
    "first-action",
    "next-action",
    "subtask",
    "subtask-action",
    "opening",
    "plan-tools",
    "end",
    "observation",
    "methods",
  ],
  code: ["system", "next-code", "subtask", "subtask-code", "plan-tools", "end", "result"],
} as const;

type PromptFile = keyof typeof SECTIONS;
/** Such as `system/role`: the file without `.md`, and the section. */
export type TemplateName = { [F in PromptFile]: `${F}/${(typeof SECTIONS)[F][number]}` }[PromptFile];

const FILES = Object.keys(SECTIONS) as readonly PromptFile[];
const TEMPLATES = FILES.flatMap((file) =>
  SECTIONS[file].map((section) => ({ file, section, name: `${file}/${section}` as TemplateName })),
);

/** Such as `section role of system.md`, for a name or for the section alone; anything else as it is. */
export function describeTemplate(given: string): string {
  const found = TEMPLATES.find(({ name, section }) => name === given || section === given);
  return found ? `section ${found.section} of ${found.file}.md` : given;
}

/** The sections of a form of reply, here of JSON with a command. */
export const JSON_WORDS = {
  form: "json",
  system: "system/system",
  next: "last-message/next-command",
  /** A line of the first one. */
  first: "last-message/first-command",
  subtask: "subtask/subtask",
  subtaskNext: "subtask/subtask-command",
  plan: "plan/plan",
  planTools: "formats/plan-tools",
  /** How the model ends its work. */
  end: "formats/end",
  format: "formats/response-format",
  answer: "formats/json-answer",
  /** The found methods, as the last message shows them. */
  found: ["foundCommands", "foundHelpers"],
} as const;

const TOOL_WORDS = {
  ...JSON_WORDS,
  form: "tools",
  format: "formats/tool-format",
  answer: "formats/tool-answer",
  /** In place of the list of commands, which the request has elsewhere. */
  commands: "formats/tool-commands",
  // Found commands are tools.
  found: ["foundHelpers"],
} as const;

/** Replies are actions as JSON, and so is what was observed. */
const PLAN_WORDS = {
  ...JSON_WORDS,
  form: "plan",
  system: "plan-form/system",
  next: "plan-form/next-action",
  plan: "plan-form/plan",
  answer: "plan-form/answer",
  observation: "plan-form/observation",
  error: "plan-form/error",
} as const;

/** Replies are prose with a piece of code. */
const REACT_WORDS = {
  form: "react",
  system: "react/system",
  next: "react/next-action",
  first: "react/first-action",
  subtask: "react/subtask",
  subtaskNext: "react/subtask-action",
  plan: "plan/plan",
  planTools: "react/plan-tools",
  end: "react/end",
  result: "react/observation",
} as const;

const CODE_WORDS = {
  form: "code",
  system: "code/system",
  next: "code/next-code",
  subtask: "code/subtask",
  subtaskNext: "code/subtask-code",
  plan: "plan/plan",
  planTools: "code/plan-tools",
  end: "code/end",
  result: "code/result",
} as const;

const OF_MODE = {
  json_schema: JSON_WORDS,
  json_object: JSON_WORDS,
  plain: JSON_WORDS,
  tools: TOOL_WORDS,
  plan: PLAN_WORDS,
  react: REACT_WORDS,
  code: CODE_WORDS,
};
export type FormTemplates = (typeof OF_MODE)[OutputMode];

/** The words of a request with this output mode. */
export const templatesOf = (mode: OutputMode): FormTemplates => OF_MODE[mode];
