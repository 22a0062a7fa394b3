/**
 * env-file.ts -- a home's `.env`: read without touching the process's own environment, and written for
 * one thing only, to keep a key that a person pasted.
 *
 * The variables of a `.env` are values to look up, never settings of this process: a line such as
 * NODE_OPTIONS=… changes nothing.
 */
import { GoaldError, toError } from "#core/errors.ts";
import { readTextFile, type TextFile } from "./read-text-file.ts";
import { replacePrivateFile } from "./replace-private-file.ts";

export type Environment = Readonly<Record<string, string | undefined>>;

/** 64 KB: hundreds of variables. */
const MAX_BYTES = 64 * 1024;

export interface EnvFile {
  readonly variables: Environment;
  /** Others than the owner can read it. */
  readonly isOpen: boolean;
}

/** No file is an empty one. Throws GOALD_CONFIG for one that cannot be read. */
export async function readEnvFile(path: string): Promise<EnvFile> {
  const file = await readFile(path);
  return { variables: await parseVariables(file?.text ?? ""), isOpen: file?.isOpen ?? false };
}

/**
 * Sets one variable and leaves every other line as it is. The file is 0600 afterwards. Throws
 * GOALD_CONFIG when it cannot be written or the value cannot be kept in it.
 */
export async function saveToEnvFile(path: string, name: string, value: string): Promise<void> {
  const text = (await readFile(path))?.text ?? "";
  const before = await parseVariables(text);
  for (const candidate of [await withLineReplaced(text, name, value), withLineAdded(text, name, value)]) {
    if (candidate === undefined || !isEqual(await parseVariables(candidate), { ...before, [name]: value })) continue;
    await replacePrivateFile(path, candidate).catch((thrown: unknown) => {
      throw new GoaldError("GOALD_CONFIG", `${name} could not be saved in ${path}: ${toError(thrown).message}.`, {
        hint: `Set ${name} in the environment instead.`,
        cause: thrown,
      });
    });
    return;
  }
  throw new GoaldError("GOALD_CONFIG", `The value of ${name} cannot be written as a line of ${path}.`, {
    hint: `Set ${name} in the environment instead.`,
  });
}

async function readFile(path: string): Promise<TextFile | undefined> {
  try {
    return await readTextFile(path, MAX_BYTES);
  } catch (thrown) {
    throw new GoaldError(
      "GOALD_CONFIG",
      `Expected a file of NAME=value lines at ${path}: ${toError(thrown).message}.`,
      {
        hint: "Make it readable, or move it away.",
        cause: thrown,
      },
    );
  }
}

async function parseVariables(text: string): Promise<Environment> {
  if (text === "") return {};
  const { parse } = await import("dotenv");
  return parse(text);
}

// ---------------------------------------------------------------- writing

/** Only a line that is the whole of its value: one that opens a quote for several lines stays. */
async function withLineReplaced(text: string, name: string, value: string): Promise<string | undefined> {
  const line = new RegExp(`^[ \\t]*(?:export[ \\t]+)?${name}[ \\t]*=.*$`, "gm");
  const [found, second] = text.match(line) ?? [];
  if (found === undefined || second !== undefined) return undefined;
  if ((await parseVariables(found))[name] !== (await parseVariables(text))[name]) return undefined;
  return text.replace(line, () => lineOf(name, value));
}

function withLineAdded(text: string, name: string, value: string): string {
  const separator = text === "" || text.endsWith("\n") ? "" : "\n";
  return `${text}${separator}${lineOf(name, value)}\n`;
}

/** Bare where that reads back the same; in the quotes that the value does not hold otherwise. */
function lineOf(name: string, value: string): string {
  if (/^[\w.+/=:@-]+$/.test(value)) return `${name}=${value}`;
  const quote = ["'", "`"].find((mark) => !value.includes(mark)) ?? '"';
  return `${name}=${quote}${value}${quote}`;
}

function isEqual(a: Environment, b: Environment): boolean {
  const [names, others] = [Object.keys(a), Object.keys(b)];
  return names.length === others.length && names.every((name) => a[name] === b[name]);
}
