/**
 * python-modules.ts -- loads the Python helpers of a home: `<home>/methods/*.py`.
 *
 * Their functions are defined in each Python namespace, inside the sandbox. They reach outside only by calling commands.
 */
import { readdir, readFile } from "node:fs/promises";
import { join, parse } from "node:path";
import { GoaldError, isGoaldError, toError } from "#core/errors.ts";
import type { CellModule } from "#core/ports/sandbox.ts";
import { type PythonFunction, readPythonFunctions } from "./read-python.ts";

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
  const files = (await listEntries(folder))
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

async function listEntries(folder: string): Promise<string[]> {
  try {
    return await readdir(folder);
  } catch (error) {
    if (Error.isError(error) && "code" in error && error.code === "ENOENT") return [];
    throw invalid(`The methods folder ${folder} cannot be read: ${toError(error).message}.`);
  }
}

const invalid = (message: string): GoaldError =>
  new GoaldError("GOALD_COMMAND_INVALID", message, { hint: "Correct the file, or remove it from the folder." });
