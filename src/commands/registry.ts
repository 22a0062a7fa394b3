/**
 * registry.ts -- the catalogue: every command file of the shipped folder and of the home.
 *
 * The file's name is the command's name, so that a later folder overrides an earlier one by
 * name alone. Each default export is checked here, once and completely, and frozen with its
 * defaults filled in; nothing behind this door asks again whether a command is sound.
 */
import { readdir } from "node:fs/promises";
import { join, parse } from "node:path";
import { pathToFileURL } from "node:url";
import { GoaldError, toError } from "#core/errors.ts";
import { type RegisteredCommand, readCommand } from "./validate.ts";

export type { RegisteredCommand };

export interface Registry {
  readonly names: readonly string[];
  get(name: string): RegisteredCommand | undefined;
  /** In the order of the prompt's list: `names` has the same. */
  readonly all: readonly RegisteredCommand[];
}

/** AutoGPT's order. What it does not name comes behind it, and the last two come last. */
const ORDER = [
  "google",
  "browse_website",
  "start_agent",
  "message_agent",
  "list_agents",
  "delete_agent",
  "clone_repository",
  "write_to_file",
  "read_file",
  "append_to_file",
  "delete_file",
  "search_files",
  "evaluate_code",
  "improve_code",
  "write_tests",
  "execute_python_file",
  "generate_image",
  "send_tweet",
  "read_audio_from_file",
];
const LAST = ["do_nothing", "task_complete"];

/**
 * Reads the folders in order; a later one overrides by name, a missing one is empty.
 * Files whose names begin with "_" or "." are not commands. Throws GOALD_COMMAND_INVALID.
 */
export async function loadRegistry(folders: readonly string[]): Promise<Registry> {
  const commands = new Map<string, RegisteredCommand>();
  for (const folder of folders)
    for (const [name, file] of await commandFiles(folder))
      commands.set(name, readCommand(name, file, await load(file)));
  if (commands.size === 0)
    throw new GoaldError("GOALD_COMMAND_INVALID", `Expected commands, found none in ${folders.join(", ")}.`, {
      hint: "Each command is one file, such as write_to_file.ts.",
    });
  const all = [...commands.values()].sort((a, b) => rank(a.name) - rank(b.name) || (a.name < b.name ? -1 : 1));
  return Object.freeze({
    names: Object.freeze(all.map((command) => command.name)),
    get: (name: string) => commands.get(name),
    all: Object.freeze(all),
  });
}

function rank(name: string): number {
  const last = LAST.indexOf(name);
  if (last >= 0) return ORDER.length + 1 + last;
  const known = ORDER.indexOf(name);
  return known < 0 ? ORDER.length : known;
}

/** Name and absolute path of each command file, sorted by name. */
async function commandFiles(folder: string): Promise<ReadonlyMap<string, string>> {
  const files = new Map<string, string>();
  for (const entry of (await entriesOf(folder)).sort()) {
    const { name, ext } = parse(entry);
    if (/^[._]/.test(entry) || !/^\.m?[jt]s$/.test(ext) || name.endsWith(".d")) continue;
    const file = join(folder, entry);
    const twin = files.get(name);
    if (twin)
      throw new GoaldError("GOALD_COMMAND_INVALID", `Two files define the command ${name}: ${twin} and ${file}.`);
    files.set(name, file);
  }
  return files;
}

async function entriesOf(folder: string): Promise<string[]> {
  try {
    return await readdir(folder);
  } catch (error) {
    if (Error.isError(error) && "code" in error && error.code === "ENOENT") return [];
    throw new GoaldError(
      "GOALD_COMMAND_INVALID",
      `Expected a folder of commands at ${folder}: ${toError(error).message}.`,
      {
        cause: error,
      },
    );
  }
}

async function load(file: string): Promise<unknown> {
  try {
    const module: { readonly default?: unknown } = await import(pathToFileURL(file).href);
    return module.default;
  } catch (error) {
    throw new GoaldError("GOALD_COMMAND_INVALID", `${file} could not be loaded: ${toError(error).message}`, {
      hint: "A command of your own is a plain object, exported as default; types need `import type`.",
      cause: error,
    });
  }
}
