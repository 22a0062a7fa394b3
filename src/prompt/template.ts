/**
 * template.ts -- the words that the model reads, from `prompts/*.md`, and `{{name}}` in them.
 *
 * The shipped folder has every file; a home's folder overrides single files by name. All is checked
 * when it is read, once, so that a slip of the pen is an error with a file name before any
 * money is spent. Filling is one pass over the template: what a value contains is never
 * looked at, so `{{goals}}` in a web page stays what it is.
 */
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { GoaldError } from "#core/errors.ts";
import { clean } from "#util/clean.ts";

interface Template {
  /** Where it was read from, for messages. */
  readonly file: string;
  readonly text: string;
}

/** What each file may hold; it must hold the `required` ones, or the model would miss something. */
const PROMPT_FILES = {
  system: {
    required: ["role", "goals", "constraints", "commands", "resources", "evaluation", "response-format"],
    optional: [],
  },
  role: { required: ["name", "role"], optional: [] },
  constraints: { required: [], optional: [] },
  resources: { required: [], optional: [] },
  evaluation: { required: [], optional: [] },
  "response-format": { required: [], optional: [] },
  "first-command": { required: ["time"], optional: ["recalls"] },
  "next-command": { required: ["time", "recalls"], optional: [] },
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
} as const satisfies Record<string, { readonly required: readonly string[]; readonly optional: readonly string[] }>;

export type PromptFile = keyof typeof PROMPT_FILES;
/** One object per set of folders: renderings are remembered by it. */
export type Words = Readonly<Record<PromptFile, Template>>;

const MAX_FILE_CHARS = 100_000;

/**
 * Reads the folders in order, the shipped one first; later ones override by file name and need not
 * exist. Throws GOALD_TEMPLATE for a file that is missing, not known, not readable, or has a
 * placeholder too many or too few.
 */
export async function loadWords(folders: readonly string[]): Promise<Words> {
  const found: Partial<Record<PromptFile, Template>> = {};
  for (const folder of folders)
    for (const entry of await namesIn(folder)) {
      const name = promptFile(entry, folder);
      found[name] = await readTemplate(name, join(folder, entry));
    }
  const missing = promptFiles().filter((name) => !found[name]);
  if (missing.length > 0)
    throw new GoaldError(
      "GOALD_TEMPLATE",
      `Expected ${fileNames(missing)} in ${folders[0] ?? "a prompts folder"}, found no such file.`,
      { hint: "Install goald again, or put the file back." },
    );
  return found as Words;
}

/**
 * The template with each `{{name}}` replaced by its value. One that stands alone on its line and has
 * an empty value takes the line and the blank ones below with it. Throws GOALD_TEMPLATE for a
 * name without a value.
 */
export function fill(template: Template, values: Readonly<Record<string, string>>): string {
  return template.text.replace(PLACEHOLDER, (_match, alone?: string, blank = "", inline?: string) => {
    const name = (alone ?? inline ?? "").trim();
    const value = Object.hasOwn(values, name) ? values[name] : undefined;
    if (value === undefined) throw unknownPlaceholder(template.file, name, Object.keys(values));
    return alone !== undefined && value === "" ? "" : value + blank;
  });
}

const PLACEHOLDER = /^\{\{([^{}\n]*)\}\}(\n+)|\{\{([^{}\n]*)\}\}/gm;

async function namesIn(folder: string): Promise<readonly string[]> {
  try {
    const names = await readdir(folder);
    return names.filter((name) => !name.startsWith(".") && !name.endsWith("~")).sort();
  } catch (error) {
    if (Error.isError(error) && "code" in error && error.code === "ENOENT") return [];
    throw new GoaldError("GOALD_TEMPLATE", `The prompts folder ${folder} cannot be read.`, { cause: error });
  }
}

function promptFile(entry: string, folder: string): PromptFile {
  const known = promptFiles().find((name) => `${name}.md` === entry);
  if (known) return known;
  throw new GoaldError(
    "GOALD_TEMPLATE",
    `${join(folder, entry)} is no prompt that goald knows. Known are ${fileNames(promptFiles())}.`,
    { hint: "Rename the file, or move it out of the prompts folder." },
  );
}

async function readTemplate(name: PromptFile, file: string): Promise<Template> {
  let bytes: Uint8Array;
  try {
    bytes = await readFile(file);
  } catch (error) {
    throw new GoaldError("GOALD_TEMPLATE", `The prompt ${file} cannot be read.`, { cause: error });
  }
  if (bytes.length > MAX_FILE_CHARS)
    throw new GoaldError(
      "GOALD_TEMPLATE",
      `The prompt ${file} has ${bytes.length} bytes; expected at most ${MAX_FILE_CHARS}.`,
    );
  const text = clean(new TextDecoder().decode(bytes));
  const template: Template = { file, text: withoutComments(text, file) };
  checkTemplate(name, template);
  return template;
}

/** Comments at the top tell people what the file is for; the model never sees them. */
function withoutComments(text: string, file: string): string {
  let rest = text.trim();
  while (rest.startsWith("<!--")) {
    const end = rest.indexOf("-->");
    if (end < 0) throw new GoaldError("GOALD_TEMPLATE", `The comment at the top of ${file} has no \`-->\` at its end.`);
    rest = rest.slice(end + 3).trim();
  }
  return rest;
}

function checkTemplate(name: PromptFile, { file, text }: Template): void {
  const { required, optional } = PROMPT_FILES[name];
  const known: readonly string[] = [...required, ...optional];
  const used = new Set(Array.from(text.matchAll(PLACEHOLDER), (match) => (match[1] ?? match[3] ?? "").trim()));
  for (const placeholder of used) if (!known.includes(placeholder)) throw unknownPlaceholder(file, placeholder, known);
  for (const placeholder of required)
    if (!used.has(placeholder))
      throw new GoaldError("GOALD_TEMPLATE", `${file} lacks {{${placeholder}}}.`, {
        hint: "Add it where its text belongs, or delete the file to get the shipped words.",
      });
  // Servers refuse JSON mode unless the request mentions it.
  if ((name === "response-format" || name === "advice") && !text.includes("JSON"))
    throw new GoaldError("GOALD_TEMPLATE", `${file} must contain the word JSON: model servers ask for it.`);
}

const unknownPlaceholder = (file: string, name: string, known: readonly string[]): GoaldError =>
  new GoaldError(
    "GOALD_TEMPLATE",
    `${file} has {{${name}}}, which means nothing there. ` +
      (known.length > 0
        ? `It may have ${known.map((each) => `{{${each}}}`).join(", ")}.`
        : "It may have no placeholder."),
  );

const promptFiles = (): readonly PromptFile[] => Object.keys(PROMPT_FILES) as PromptFile[];
const fileNames = (names: readonly string[]): string => names.map((name) => `${name}.md`).join(", ");
