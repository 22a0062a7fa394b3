/**
 * python-modules.ts -- loads the Python helpers of a home: `<home>/methods/*.py`. Their functions are defined in each
 * Python namespace, inside the sandbox. They reach outside only by calling commands.
 */
import { readFile } from "node:fs/promises";
import { join, parse } from "node:path";
import { GoaldError, isGoaldError, toError } from "#core/errors.ts";
import type { FoundMethod } from "#core/ports/memory.ts";
import type { CellModule } from "#core/ports/sandbox.ts";
import { oneLine } from "#core/text.ts";
import { listEntries } from "./validate.ts";

export interface PythonModule extends CellModule {
  /** Absolute path. */
  readonly path: string;
  readonly functions: readonly PythonFunction[];
  /** Line of a definition that cannot be read, from 1; null for none. What follows it is not read. */
  readonly brokenLine: number | null;
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
    const { functions, brokenLine } = readPythonFunctions(source);
    for (const { name, line } of functions) {
      const other = isTaken(name) ? "a command" : owners.get(name);
      if (other !== undefined) throw invalid(`${path}:${line} defines ${name}, which is also ${describeOther(other)}.`);
      owners.set(name, path);
    }
    modules.push({ file, path, source, functions, brokenLine });
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

/** `signature` is on one line, such as `double(x: int) -> int`, and so is `doc`, which is empty without a docstring. */
export interface PythonFunction extends FoundMethod {
  /** Line of the `def`, from 1. */
  readonly line: number;
}

const MAX_SIGNATURE_CHARS = 500;
const MAX_DOC_CHARS = 1_200;

/** A string, which may lack its end. */
const STRING = String.raw`(?<prefix>(?<![\p{ID_Continue}])[rRuUbBfFtT]{1,2})?(?:(?<long>"""|''')(?<lines>(?:\\[\s\S]|(?!\k<long>)[^\\])*)(?<longEnd>\k<long>)?|(?<mark>["'])(?<line>(?:\\[\s\S]|(?!\k<mark>)[^\\\n])*)(?<end>\k<mark>)?)`;
const STRING_OR_COMMENT = new RegExp(`#[^\\n]*|${STRING}`, "gu");
const DOCSTRING = new RegExp(`\\s*${STRING}`, "yu");
const DEFINITION = /^def[ \t]+([\p{ID_Start}_][\p{ID_Continue}]*)[ \t]*(?=[([])/gmu;

/**
 * Reads the functions that a Python file defines at its top level: name, signature and docstring. Nothing is run.
 * Strings, comments and brackets are recognised, so that a `def` in a docstring is not a function. Private functions
 * (`_name`), coroutines and what is nested in classes, conditions and other functions are left out. Stops at a
 * definition that cannot be read: `brokenLine` is its line, or null for none.
 */
export function readPythonFunctions(source: string) {
  const text = source.replaceAll(/\r\n?/g, "\n");
  // Everything keeps its place: first without comments, then without strings too.
  const uncommented = text.replace(STRING_OR_COMMENT, (found) => (found.startsWith("#") ? blank(found) : found));
  const code = uncommented.replace(STRING_OR_COMMENT, blank);
  const functions: PythonFunction[] = [];
  let line = 1;
  let counted = 0;
  let end = 0;
  for (const { index, 0: head, 1: name = "" } of code.matchAll(DEFINITION)) {
    if (index < end) continue;
    const from = index + head.length;
    const colon = findColon(code, from);
    for (; counted < index; counted++) if (text[counted] === "\n") line++;
    if (colon === undefined) return { functions, brokenLine: line };
    end = colon + 1;
    const signature = oneLine(name + foldBlanks(uncommented.slice(from, colon)), MAX_SIGNATURE_CHARS);
    if (!name.startsWith("_")) functions.push({ name, signature, doc: readDocstring(uncommented, end), line });
  }
  return { functions, brokenLine: null };
}

const blank = (found: string): string => " ".repeat(found.length);

/** The colon that ends the head of the definition. */
function findColon(code: string, from: number): number | undefined {
  let depth = 0;
  for (let at = from; at < code.length; at++) {
    const char = code[at] as string;
    if (depth === 0 && char === ":") return at;
    if (depth === 0 && char === "\n" && code[at - 1] !== "\\") return undefined;
    if ("([{".includes(char)) depth++;
    else if (")]}".includes(char)) depth--;
  }
  return undefined;
}

const foldBlanks = (text: string): string =>
  text.replace(/\\\n/g, " ").replace(/\s+/g, " ").replace(/\( /g, "(").replace(/,? \)/g, ")").trim();

/** The string that follows, if the body begins with one. */
function readDocstring(uncommented: string, from: number): string {
  DOCSTRING.lastIndex = from;
  const { prefix = "", lines, line, longEnd, end } = DOCSTRING.exec(uncommented)?.groups ?? {};
  const content = lines ?? line;
  if (content === undefined || (longEnd ?? end) === undefined || /[bft]/i.test(prefix)) return "";
  const plain = /r/i.test(prefix) ? content : content.replace(/\\\n/g, "").replace(/\\(["'\\])/g, "$1");
  return oneLine(plain, MAX_DOC_CHARS);
}
