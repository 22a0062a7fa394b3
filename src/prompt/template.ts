/**
 * template.ts -- loads the words that the model reads from `prompts/`, and fills their `{{name}}` placeholders.
 *
 * The shipped folder has every file; a folder of the home overrides single files by name. The forms `plan`, `react` and `code`
 * have a folder of their own below it. Files are checked once at load, before any money is spent. Filling is one pass: a
 * `{{goals}}` inside a value stays as it is.
 */
import { readFileSync } from "node:fs";
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { GoaldError } from "#core/errors.ts";
import { clean } from "#util/outside-text.ts";
import { PROMPT_FILES, type PromptFile } from "./prompt-files.ts";

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
