/**
 * words.ts -- loads the words that the model reads from `prompts/`, and fills their `{{name}}` placeholders.
 *
 * The shipped folder has every file; a folder of the home overrides single files by name. The forms `plan`, `react` and
 * `code` have a folder of their own below it. Files are checked once at load, before any money is spent. Filling is one
 * pass: a `{{goals}}` inside a value stays as it is.
 */
import { readFileSync } from "node:fs";
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import type { ReplyForm } from "#core/agent-settings.ts";
import { GoaldError } from "#core/errors.ts";
import type { OutputMode } from "#core/event.ts";
import type { ActionForm } from "#core/state.ts";
import { clean } from "#util/outside-text.ts";

interface PromptTemplate {
  /** Path, for error messages. */
  readonly file: string;
  readonly text: string;
}

/** One object per set of folders; it is a cache key of renderings. */
export type Words = Readonly<Record<PromptFile, PromptTemplate>>;

const MAX_FILE_CHARS = 100_000;

/**
 * Reads the folders in order, the shipped one first. Later folders override files by name and may be missing. Throws
 * GOALD_TEMPLATE for a missing, unknown or unreadable file, and for missing or unknown placeholders.
 */
export async function loadWords(folders: readonly string[]): Promise<Words> {
  const found: Partial<Record<PromptFile, PromptTemplate>> = {};
  for (const folder of folders)
    for (const entry of await listFileNames(folder)) {
      const name = findPromptFile(entry, folder);
      found[name] = readTemplate(name, join(folder, entry));
    }
  const missing = listPromptFiles().filter((name) => !found[name]);
  if (missing.length > 0)
    throw new GoaldError(
      "GOALD_TEMPLATE",
      `${formatFileNames(missing)} not found in ${folders[0] ?? "the prompts folder"}.`,
      { hint: "Install goald again, or restore the file." },
    );
  return found as Words;
}

/**
 * Replaces each `{{name}}` by its value. An empty value alone on its line removes the line and the blank lines below.
 * Throws GOALD_TEMPLATE for a name without a value.
 */
export function fillTemplate(template: PromptTemplate, values: Readonly<Record<string, string>>): string {
  return template.text.replace(PLACEHOLDER, (_match, alone?: string, blank = "", inline?: string) => {
    const name = (alone ?? inline ?? "").trim();
    const value = Object.hasOwn(values, name) ? values[name] : undefined;
    if (value === undefined) throw createPlaceholderError(template.file, name, Object.keys(values));
    return alone !== undefined && value === "" ? "" : value + blank;
  });
}

const PLACEHOLDER = /^\{\{([^{}\n]*)\}\}(\n+)|\{\{([^{}\n]*)\}\}/gm;

const FORM_FOLDERS: readonly string[] = ["plan", "react", "code"];

/** Relative to the folder. */
async function listFileNames(folder: string): Promise<readonly string[]> {
  const names = await listNames(folder);
  const listed = names.map(async (name) => {
    if (!FORM_FOLDERS.includes(name)) return [name];
    return (await listNames(join(folder, name))).map((file) => `${name}/${file}`);
  });
  return (await Promise.all(listed)).flat();
}

async function listNames(folder: string): Promise<readonly string[]> {
  try {
    const names = await readdir(folder);
    return names.filter((name) => !name.startsWith(".") && !name.endsWith("~")).sort();
  } catch (error) {
    if (Error.isError(error) && "code" in error && error.code === "ENOENT") return [];
    throw new GoaldError("GOALD_TEMPLATE", `The prompts folder ${folder} cannot be read.`, { cause: error });
  }
}

function findPromptFile(entry: string, folder: string): PromptFile {
  const known = listPromptFiles().find((name) => `${name}.md` === entry);
  if (known) return known;
  throw new GoaldError(
    "GOALD_TEMPLATE",
    `${join(folder, entry)} is not a prompt file. Known files: ${formatFileNames(listPromptFiles())}.`,
    { hint: "Rename the file, or move it out of the prompts folder." },
  );
}

/** Reads at once: fifty small files cost a sixth of the CPU that they cost one by one in the thread pool. */
function readTemplate(name: PromptFile, file: string): PromptTemplate {
  let bytes: Uint8Array;
  try {
    bytes = readFileSync(file);
  } catch (error) {
    throw new GoaldError("GOALD_TEMPLATE", `The prompt ${file} cannot be read.`, { cause: error });
  }
  if (bytes.length > MAX_FILE_CHARS)
    throw new GoaldError(
      "GOALD_TEMPLATE",
      `The prompt ${file} has ${bytes.length} bytes; expected at most ${MAX_FILE_CHARS}.`,
    );
  const text = clean(new TextDecoder().decode(bytes));
  const template: PromptTemplate = { file, text: removeComments(text, file) };
  checkTemplate(name, template);
  return template;
}

/** Removes the comments at the top, which are for people. */
function removeComments(text: string, file: string): string {
  let rest = text.trim();
  while (rest.startsWith("<!--")) {
    const end = rest.indexOf("-->");
    if (end < 0) throw new GoaldError("GOALD_TEMPLATE", `The comment at the top of ${file} does not end with \`-->\`.`);
    rest = rest.slice(end + 3).trim();
  }
  return rest;
}

function checkTemplate(name: PromptFile, { file, text }: PromptTemplate): void {
  const { required, optional } = PROMPT_FILES[name];
  const known: readonly string[] = [...required, ...optional];
  const used = new Set(Array.from(text.matchAll(PLACEHOLDER), (match) => (match[1] ?? match[3] ?? "").trim()));
  for (const placeholder of used)
    if (!known.includes(placeholder)) throw createPlaceholderError(file, placeholder, known);
  for (const placeholder of required)
    if (!used.has(placeholder))
      throw new GoaldError("GOALD_TEMPLATE", `${file} lacks {{${placeholder}}}.`, {
        hint: "Add it, or delete the file to use the shipped one.",
      });
  // Servers refuse JSON mode unless the request mentions it.
  if (NEEDS_JSON.includes(name) && !text.includes("JSON"))
    throw new GoaldError(
      "GOALD_TEMPLATE",
      `${file} must contain the word JSON: model servers require it in JSON mode.`,
    );
}

const NEEDS_JSON: readonly PromptFile[] = ["response-format", "advice", "plan/system"];

const createPlaceholderError = (file: string, name: string, known: readonly string[]): GoaldError =>
  new GoaldError(
    "GOALD_TEMPLATE",
    `${file} has {{${name}}}, which is not a known placeholder. ` +
      (known.length > 0
        ? `Known are ${known.map((each) => `{{${each}}}`).join(", ")}.`
        : "The file must have no placeholder."),
  );

const listPromptFiles = (): readonly PromptFile[] => Object.keys(PROMPT_FILES) as PromptFile[];
const formatFileNames = (names: readonly string[]): string => names.map((name) => `${name}.md`).join(", ");

// The files of `prompts/` and the placeholders that each of them has.

/** The last message of a reply in prose has these too. */
const NEXT_ACTION = ["situation", "recalls", "methods"] as const;
/** The last message, except that of a sub-task, has these too. */
const PLAN = ["plan", "hint"] as const;

/** By name, without `.md`. */
const PROMPT_FILES = {
  system: {
    required: ["role", "goals", "constraints", "commands", "resources", "evaluation", "response-format"],
    optional: [],
  },
  role: { required: ["name", "role"], optional: [] },
  "outside-role": { required: [], optional: [] },
  "outside-goal": { required: [], optional: [] },
  "outside-job": { required: ["data"], optional: ["outside"] },
  turn: { required: ["turn", "asked", "output"], optional: ["source", "calls", "files"] },
  "turn-calls": { required: ["calls"], optional: ["left-out"] },
  "turn-call": { required: ["number", "command", "data"], optional: [] },
  "turn-left-out": { required: ["count"], optional: [] },
  "turn-files": { required: ["data"], optional: [] },
  asked: { required: [], optional: [] },
  constraints: { required: [], optional: ["assistance"] },
  assistance: { required: [], optional: [] },
  "no-assistance": { required: [], optional: [] },
  resources: { required: [], optional: [] },
  evaluation: { required: [], optional: [] },
  "response-format": { required: [], optional: [] },
  "tool-format": { required: [], optional: [] },
  "tool-commands": { required: [], optional: [] },
  "json-answer": { required: [], optional: [] },
  "tool-answer": { required: [], optional: [] },
  "first-command": { required: ["time"], optional: ["answer", "recalls", "situation", ...PLAN] },
  "next-command": { required: ["time", "recalls"], optional: ["answer", "situation", ...PLAN] },
  plan: { required: ["tree", "status"], optional: ["rules"] },
  "plan-rules": { required: [], optional: [] },
  "plan-collapsed": { required: [], optional: [] },
  "plan-outside": { required: ["outside"], optional: [] },
  "plan-current": { required: ["id", "goal"], optional: [] },
  "plan-leaf": { required: [], optional: [] },
  "plan-whole": { required: [], optional: [] },
  "plan-idle": { required: [], optional: [] },
  "plan-last-steps": { required: [], optional: [] },
  "plan-start": { required: [], optional: [] },
  "plan-check": { required: [], optional: [] },
  "plan-done": { required: [], optional: [] },
  "plan-hint-begin": { required: [], optional: [] },
  "plan-hint-files": { required: [], optional: [] },
  "plan-hint-act": { required: [], optional: [] },
  "plan-hint-thoughts": { required: [], optional: [] },
  "plan-hint-next": { required: [], optional: [] },
  "plan-hint-result": { required: [], optional: [] },
  folder: { required: ["files"], optional: [] },
  "found-methods": { required: ["methods"], optional: [] },
  "limits-left": { required: ["left"], optional: [] },
  "helpers-at-work": { required: ["helpers"], optional: [] },
  "last-steps": { required: [], optional: [] },
  subtask: { required: ["returns"], optional: [] },
  "subtask-command": { required: ["time", "words"], optional: ["answer", "situation", "recalls", "command"] },
  "subtask-context": { required: ["earlier"], optional: [] },
  "earlier-subtasks": { required: ["data"], optional: [] },
  recalls: { required: ["events"], optional: [] },
  result: { required: ["command", "status", "data"], optional: ["step", "source"] },
  denial: { required: ["words"], optional: ["step", "from"] },
  feedback: { required: ["words"], optional: ["step", "from"] },
  task: { required: ["words"], optional: ["step", "from"] },
  report: { required: ["from", "data"], optional: ["step", "status"] },
  problem: { required: ["data"], optional: ["step"] },
  "spilled-text": { required: ["bytes"], optional: [] },
  "empty-text": { required: [], optional: [] },
  advice: { required: ["task", "schema"], optional: [] },
  "advice-material": { required: ["label", "data"], optional: [] },
  "advice-again": { required: [], optional: [] },
  "evaluate-code": { required: [], optional: [] },
  "browse-website": { required: [], optional: [] },
  "improve-code": { required: [], optional: [] },
  "write-tests": { required: [], optional: [] },
  judge: { required: [], optional: [] },
  "goal-checks": { required: ["checks"], optional: [] },
  "all-goals-checks": { required: ["checks"], optional: [] },
  "plan/system": { required: ["role", "goals", "commands"], optional: ["assistance"] },
  "plan/next-action": { required: ["time", "plan", "hint"], optional: ["answer", "recalls", "situation"] },
  "plan/plan": { required: ["tree", "status"], optional: ["rules"] },
  "plan/answer": { required: [], optional: [] },
  "plan/observation": { required: ["status", "source"], optional: ["action", "step"] },
  "plan/error": { required: [], optional: ["step"] },
  "react/system": { required: ["role", "goals"], optional: ["assistance"] },
  "react/first-action": { required: ["time", "number"], optional: [...NEXT_ACTION, ...PLAN] },
  "react/next-action": { required: ["time", "number"], optional: [...NEXT_ACTION, ...PLAN] },
  "react/subtask": { required: ["returns"], optional: [] },
  "react/subtask-action": { required: ["time", "words", "number"], optional: [...NEXT_ACTION, "command"] },
  "react/last-steps": { required: [], optional: [] },
  "react/plan": { required: ["tree", "status"], optional: ["rules"] },
  "react/observation": { required: ["number", "data"], optional: ["status", "source"] },
  "react/methods": { required: ["methods"], optional: [] },
  "code/system": { required: ["role", "goals", "functions"], optional: ["assistance"] },
  "code/next-code": { required: ["time"], optional: [...NEXT_ACTION, ...PLAN] },
  "code/subtask": { required: ["returns"], optional: [] },
  "code/subtask-code": { required: ["time", "words"], optional: [...NEXT_ACTION, "command"] },
  "code/last-steps": { required: [], optional: [] },
  "code/plan": { required: ["tree", "status"], optional: ["rules"] },
  "code/result": { required: ["data"], optional: ["step", "status", "source"] },
} as const satisfies Record<string, { readonly required: readonly string[]; readonly optional: readonly string[] }>;

export type PromptFile = keyof typeof PROMPT_FILES;

// Which files of prompts/ a form of reply uses.

interface SharedWords {
  readonly first: "first-command" | "plan/next-action" | "react/first-action" | "code/next-code";
  readonly next: "next-command" | "plan/next-action" | "react/next-action" | "code/next-code";
  readonly subtask: "subtask" | "react/subtask" | "code/subtask";
  readonly subtaskNext: "subtask-command" | "react/subtask-action" | "code/subtask-code";
  readonly lastSteps: "last-steps" | "react/last-steps" | "code/last-steps";
  readonly plan: "plan" | "plan/plan" | "react/plan" | "code/plan";
}

/** Replies are JSON with a command. */
interface CommandWords extends SharedWords {
  readonly form: Exclude<ReplyForm, ActionForm | "plan">;
  readonly system: "system";
  readonly format: "response-format" | "tool-format";
  readonly answer: "json-answer" | "tool-answer";
  /** In place of the list of commands, when the request has them elsewhere. */
  readonly commands?: "tool-commands";
  /** The found methods, as the last message shows them. */
  readonly found: readonly ("foundCommands" | "foundHelpers")[];
}

/** Replies are actions as JSON, and so is what was observed. */
interface PlanWords extends SharedWords {
  readonly form: "plan";
  readonly system: "plan/system";
  readonly answer: "plan/answer";
  readonly found: CommandWords["found"];
  readonly observation: "plan/observation";
  readonly error: "plan/error";
}

/** Replies are prose with a piece of code. */
interface ActionWords<F extends ActionForm> extends SharedWords {
  readonly form: F;
  readonly system: `${F}/system`;
  readonly result: "react/observation" | "code/result";
}

export type FormTemplates = CommandWords | PlanWords | ActionWords<"react"> | ActionWords<"code">;

const COMMAND_WORDS = {
  system: "system",
  first: "first-command",
  next: "next-command",
  subtask: "subtask",
  subtaskNext: "subtask-command",
  lastSteps: "last-steps",
  plan: "plan",
} as const;

export const JSON_WORDS: FormTemplates = {
  ...COMMAND_WORDS,
  form: "json",
  format: "response-format",
  answer: "json-answer",
  found: ["foundCommands", "foundHelpers"],
};
const TOOL_WORDS: FormTemplates = {
  ...COMMAND_WORDS,
  form: "tools",
  format: "tool-format",
  answer: "tool-answer",
  commands: "tool-commands",
  // Found commands are tools.
  found: ["foundHelpers"],
};
const PLAN_WORDS: FormTemplates = {
  ...COMMAND_WORDS,
  form: "plan",
  system: "plan/system",
  first: "plan/next-action",
  next: "plan/next-action",
  plan: "plan/plan",
  answer: "plan/answer",
  found: ["foundCommands", "foundHelpers"],
  observation: "plan/observation",
  error: "plan/error",
};
const REACT_WORDS: FormTemplates = {
  form: "react",
  system: "react/system",
  first: "react/first-action",
  next: "react/next-action",
  subtask: "react/subtask",
  subtaskNext: "react/subtask-action",
  lastSteps: "react/last-steps",
  plan: "react/plan",
  result: "react/observation",
};
const CODE_WORDS: FormTemplates = {
  form: "code",
  system: "code/system",
  first: "code/next-code",
  next: "code/next-code",
  subtask: "code/subtask",
  subtaskNext: "code/subtask-code",
  lastSteps: "code/last-steps",
  plan: "code/plan",
  result: "code/result",
};

/** The words of a request with this output mode. */
export function templatesOf(mode: OutputMode): FormTemplates {
  switch (mode) {
    case "tools":
      return TOOL_WORDS;
    case "plan":
      return PLAN_WORDS;
    case "react":
      return REACT_WORDS;
    case "code":
      return CODE_WORDS;
    default:
      return JSON_WORDS;
  }
}
