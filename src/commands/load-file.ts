/**
 * load-file.ts -- imports one command file, and finds the line of a fault in it.
 *
 * A changed file is imported again: modules are cached by address, so the address gets the time of the change. The modules
 * that the file imports stay as first loaded.
 */
import { readFile, stat } from "node:fs/promises";
import { stripTypeScriptTypes } from "node:module";
import { pathToFileURL } from "node:url";
import { GoaldError, toError } from "#core/errors.ts";

/** Modification time at the first load in this process, by path. */
const firstLoaded = new Map<string, number>();

/** Returns the default export. Throws GOALD_COMMAND_INVALID. */
export async function loadCommandFile(file: string): Promise<unknown> {
  try {
    const { mtimeMs } = await stat(file);
    const first = firstLoaded.get(file) ?? mtimeMs;
    firstLoaded.set(file, first);
    const url = pathToFileURL(file).href;
    const module: { readonly default?: unknown } = await import(mtimeMs === first ? url : `${url}?changed=${mtimeMs}`);
    return module.default;
  } catch (thrown) {
    throw await createLoadError(file, toError(thrown));
  }
}

async function createLoadError(file: string, error: Error): Promise<GoaldError> {
  const line =
    findLineInStack(file, error) ?? (error.name === "SyntaxError" ? await findSyntaxErrorLine(file) : undefined);
  const where = line === undefined ? file : `${file}:${line}`;
  return new GoaldError("GOALD_COMMAND_INVALID", `${where} could not be loaded: ${error.message}`, {
    hint: "A command file exports a plain object as default; types need `import type`.",
    cause: error,
  });
}

function findLineInStack(file: string, { stack = "" }: Error): number | undefined {
  const at = stack.indexOf(file);
  const [, line] = /^(?:\?[^:\s]*)?:(\d+)/.exec(stack.slice(at + file.length)) ?? [];
  return at < 0 || line === undefined ? undefined : Number(line);
}

/** The syntax error of an import has no line in its stack; the error of the TypeScript parser has one. */
async function findSyntaxErrorLine(file: string): Promise<number | undefined> {
  try {
    stripTypeScriptTypes(await readFile(file, "utf8"), { sourceUrl: file });
    return undefined;
  } catch (thrown) {
    return findLineInStack(file, toError(thrown));
  }
}

/** Returns the line of the field that a problem starts with (`expected effect: …`); undefined when the file lacks it. */
export function findProblemLine(problem: string, source: string): number | undefined {
  const [, path = ""] = /^(?:expected |there is no (?:field|annotation) )?"?([\w.]+)/.exec(problem) ?? [];
  const parts = path.split(".");
  // Keywords of an argument's schema occur many times, the name of the argument once.
  const name = parts[1] === "properties" ? parts[2] : parts.at(-1);
  if (name === undefined || name === "") return undefined;
  const at = source.search(createFieldPattern(name));
  if (at < 0) return undefined;
  return source.slice(0, at).split("\n").length + (source[at] === "\n" ? 1 : 0);
}

/** Matches the field as a key or a method. */
const createFieldPattern = (name: string): RegExp =>
  new RegExp(`(?:^|[\\n{,])[ \\t]*(?:async\\s+)?["']?${name}["']?\\s*[:(]`);
