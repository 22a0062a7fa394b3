/**
 * python-modules.ts -- loads the Python helpers of a home: `<home>/methods/*.py`.
 *
 * Their functions are defined in each Python namespace, inside the sandbox. They reach outside only by calling
 * commands.
 */
import { readFile } from "node:fs/promises";
import { join, parse } from "node:path";
import { GoaldError, isGoaldError, toError } from "#core/errors.ts";
import type { CellModule } from "#core/ports/sandbox.ts";
import { oneLine } from "#core/text.ts";
import { listEntries } from "./validate.ts";

export interface PythonModule extends CellModule {
  /** Absolute path. */
  readonly path: string;
  readonly functions: readonly PythonFunction[];
}

const MAX_FILES = 1_000;
const MAX_FILE_BYTES = 256 * 1024;
/** Each new namespace defines all of them. */
const MAX_ALL_BYTES = 4 * 1024 * 1024;

/**
 * Returns the modules sorted by name; none for a missing folder. Skips files that start with "_" or ".". Throws
 * GOALD_COMMAND_INVALID, and what `judge` throws for a file. `isTaken`: names of commands as Python functions.
 */
export async function loadPythonModules(
  folder: string,
  judge: (file: string) => void,
  isTaken: (name: string) => boolean,
): Promise<readonly PythonModule[]> {
  const files = (await listEntries("methods", folder))
    .filter((entry) => parse(entry).ext === ".py" && !/^[._]/.test(entry))
    .sort();
  if (files.length > MAX_FILES) throw invalid(`${folder} has ${files.length} files; ${MAX_FILES} are allowed.`);
  const modules: PythonModule[] = [];
  const owners = new Map<string, string>();
  let bytes = 0;
  for (const file of files) {
    const path = join(folder, file);
    judge(path);
    const source = await readSource(path);
    bytes += Buffer.byteLength(source);
    if (bytes > MAX_ALL_BYTES) throw invalid(`The files of ${folder} have more than ${MAX_ALL_BYTES} bytes together.`);
    const functions = readPythonFunctions(source);
    for (const { name, line } of functions) {
      const other = isTaken(name) ? "a command" : owners.get(name);
      if (other !== undefined) throw invalid(`${path}:${line} defines ${name}, which is also ${describeOther(other)}.`);
      owners.set(name, path);
    }
    modules.push({ file, path, source, functions });
  }
  return modules;
}

const describeOther = (other: string): string => (other === "a command" ? other : `in ${other}`);

async function readSource(path: string): Promise<string> {
  try {
    const bytes = await readFile(path);
    if (bytes.length > MAX_FILE_BYTES)
      throw invalid(`${path} has ${bytes.length} bytes; ${MAX_FILE_BYTES} are allowed.`);
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch (error) {
    if (isGoaldError(error)) throw error;
    throw invalid(`${path} cannot be read as UTF-8 text: ${toError(error).message}.`);
  }
}

const invalid = (message: string): GoaldError =>
  new GoaldError("GOALD_COMMAND_INVALID", message, { hint: "Correct the file, or remove it from the folder." });

// Reads the functions that a Python file defines at its top level: name, signature and docstring.
//
// Nothing is run. Strings, comments and brackets are recognised, so that a `def` in a docstring is not a function.
// Private functions (`_name`), coroutines and what is nested in classes, conditions and other functions are left out.

interface PythonFunction {
  readonly name: string;
  /** Such as `double(x: int) -> int`, on one line. */
  readonly signature: string;
  /** The docstring on one line; empty when there is none. */
  readonly doc: string;
  /** Line of the `def`, from 1. */
  readonly line: number;
}

const MAX_SIGNATURE_CHARS = 500;
const MAX_DOC_CHARS = 1_200;

const QUOTE = /(?:[rR]|[uU]|[bB]|[fF]|[tT]){0,2}("""|'''|"|')/y;
const DEFINITION = /def[ \t]+([\p{ID_Start}_][\p{ID_Continue}]*)[ \t]*(?=[([])/uy;

export function readPythonFunctions(source: string): readonly PythonFunction[] {
  const text = source.replaceAll(/\r\n?/g, "\n");
  const found: PythonFunction[] = [];
  let depth = 0;
  let at = 0;
  let [line, counted] = [1, 0];
  while (at < text.length) {
    const isLineStart = depth === 0 && (at === 0 || text[at - 1] === "\n");
    const name = isLineStart ? matchAt(DEFINITION, text, at)?.[1] : undefined;
    if (name !== undefined) {
      const read = readDefinition(text, at, name);
      for (; counted < at; counted++) if (text[counted] === "\n") line++;
      if (read && !name.startsWith("_")) found.push({ ...read.defined, line });
      at = read?.end ?? at + 1;
      continue;
    }
    const next = skipQuoted(text, at);
    if (next === at) depth = Math.max(0, depth + bracketOf(text[at]));
    at = next === at ? at + 1 : next;
  }
  return found;
}

function readDefinition(text: string, start: number, name: string) {
  const from = start + (matchAt(DEFINITION, text, start)?.[0].length ?? 0);
  const colon = findColon(text, from);
  if (colon === undefined) return undefined;
  const rest = foldBlanks(withoutComments(text, from, colon));
  const signature = oneLine(`${name}${rest}`, MAX_SIGNATURE_CHARS);
  return { defined: { name, signature, doc: readDocstring(text, colon + 1) }, end: colon + 1 };
}

/** The colon that ends the head of the definition. */
function findColon(text: string, from: number): number | undefined {
  let depth = 0;
  for (let at = from; at < text.length; ) {
    const next = skipQuoted(text, at);
    if (next > at) {
      at = next;
      continue;
    }
    if (depth === 0 && text[at] === ":") return at;
    depth += bracketOf(text[at]);
    at++;
  }
  return undefined;
}

function withoutComments(text: string, from: number, to: number): string {
  let kept = "";
  for (let at = from; at < to; ) {
    const next = skipQuoted(text, at);
    if (next === at) kept += text[at];
    else if (text[at] !== "#") kept += text.slice(at, next);
    at = Math.max(next, at + 1);
  }
  return kept;
}

const foldBlanks = (text: string): string =>
  text.replace(/\\\n/g, " ").replace(/\s+/g, " ").replace(/\( /g, "(").replace(/,? \)/g, ")").trim();

/** The string that follows, if the body begins with one. */
function readDocstring(text: string, from: number): string {
  let at = from;
  for (;;) {
    while (/\s/.test(text[at] ?? "")) at++;
    if (text[at] !== "#") break;
    at = skipQuoted(text, at);
  }
  const opened = matchAt(QUOTE, text, at);
  if (!opened || /[bBfFtT]/.test(opened[0])) return "";
  const quote = opened[1] as string;
  const end = skipQuoted(text, at);
  if (!text.startsWith(quote, end - quote.length)) return "";
  const content = text.slice(at + opened[0].length, end - quote.length);
  const plain = /r/i.test(opened[0]) ? content : content.replace(/\\\n/g, "").replace(/\\(["'\\])/g, "$1");
  return oneLine(plain, MAX_DOC_CHARS);
}

/** Returns the end of the string or comment that begins here; the same place when there is none. */
function skipQuoted(text: string, at: number): number {
  if (text[at] === "#") {
    const end = text.indexOf("\n", at);
    return end < 0 ? text.length : end;
  }
  const isInWord = at > 0 && /[\p{ID_Continue}]/u.test(text[at - 1] as string);
  const opened = isInWord && !/["']/.test(text[at] as string) ? null : matchAt(QUOTE, text, at);
  if (!opened) return at;
  const quote = opened[1] as string;
  for (let end = at + opened[0].length; end < text.length; end++) {
    if (text[end] === "\\") end++;
    else if (text.startsWith(quote, end)) return end + quote.length;
    else if (quote.length === 1 && text[end] === "\n") return end;
  }
  return text.length;
}

const bracketOf = (character: string | undefined): number =>
  character === undefined ? 0 : "([{".includes(character) ? 1 : ")]}".includes(character) ? -1 : 0;

function matchAt(pattern: RegExp, text: string, at: number): RegExpExecArray | null {
  pattern.lastIndex = at;
  return pattern.exec(text);
}
