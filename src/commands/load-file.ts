/**
 * load-file.ts -- one command file, from the disk to its default export; what is wrong with it is said with its line.
 *
 * A file that has changed since it was loaded is loaded again: a module is kept by its address, so the time of the
 * change becomes part of it. What the file itself imports stays as it was loaded first.
 */
import { readFile, stat } from "node:fs/promises";
import { stripTypeScriptTypes } from "node:module";
import { pathToFileURL } from "node:url";
import { GoaldError, toError } from "#core/errors.ts";

/** As it was when this process loaded it first, by path. */
const firstLoaded = new Map<string, number>();

/** Its default export. Throws GOALD_COMMAND_INVALID. */
export async function loadFile(file: string): Promise<unknown> {
  try {
    const { mtimeMs } = await stat(file);
    const first = firstLoaded.get(file) ?? mtimeMs;
    firstLoaded.set(file, first);
    const url = pathToFileURL(file).href;
    const module: { readonly default?: unknown } = await import(mtimeMs === first ? url : `${url}?changed=${mtimeMs}`);
    return module.default;
  } catch (thrown) {
    throw await notLoaded(file, toError(thrown));
  }
}

async function notLoaded(file: string, error: Error): Promise<GoaldError> {
  const line = lineInStack(file, error) ?? (error.name === "SyntaxError" ? await lineOfSyntaxError(file) : undefined);
  const where = line === undefined ? file : `${file}:${line}`;
  return new GoaldError("GOALD_COMMAND_INVALID", `${where} could not be loaded: ${error.message}`, {
    hint: "A command of your own is a plain object, exported as default; types need `import type`.",
    cause: error,
  });
}

function lineInStack(file: string, { stack = "" }: Error): number | undefined {
  const at = stack.indexOf(file);
  const [, line] = /^(?:\?[^:\s]*)?:(\d+)/.exec(stack.slice(at + file.length)) ?? [];
  return at < 0 || line === undefined ? undefined : Number(line);
}

/** The engine says of a module of JavaScript only that it is wrong; the TypeScript reader says where. */
async function lineOfSyntaxError(file: string): Promise<number | undefined> {
  try {
    stripTypeScriptTypes(await readFile(file, "utf8"), { sourceUrl: file });
    return undefined;
  } catch (thrown) {
    return lineInStack(file, toError(thrown));
  }
}

/**
 * Where in the file the field stands that a problem begins with, such as `expected effect: …`; undefined where that cannot
 * be told, as of a field that is not there.
 */
export function lineOfProblem(problem: string, source: string): number | undefined {
  const [, path = ""] = /^(?:expected |there is no (?:field|annotation) )?"?([\w.]+)/.exec(problem) ?? [];
  const parts = path.split(".");
  // Of an argument's schema its keywords stand in many places, its name in one.
  const name = parts[1] === "properties" ? parts[2] : parts.at(-1);
  if (name === undefined || name === "") return undefined;
  const at = source.search(fieldPattern(name));
  if (at < 0) return undefined;
  return source.slice(0, at).split("\n").length + (source[at] === "\n" ? 1 : 0);
}

/** As a key of an object, or a method. */
const fieldPattern = (name: string): RegExp =>
  new RegExp(`(?:^|[\\n{,])[ \\t]*(?:async\\s+)?["']?${name}["']?\\s*[:(]`);
