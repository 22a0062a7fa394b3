/**
 * registry.ts -- the catalogue: every command file of the shipped folder and of the home.
 *
 * The file's name is the command's name, so that a later folder overrides an earlier one by
 * name alone. Each default export is checked here, once and completely, and frozen with its
 * defaults filled in; nothing behind this door asks again whether a command is sound.
 */
import { readFileSync } from "node:fs";
import { readdir } from "node:fs/promises";
import { join, parse } from "node:path";
import { GoaldError, toError } from "#core/errors.ts";
import { SERVICES, type ServiceName, type ServiceState } from "#core/services.ts";
import { loadFile } from "./load-file.ts";
import { type RegisteredCommand, readCommand } from "./validate.ts";

export type { RegisteredCommand };

export interface Registry {
  readonly names: readonly string[];
  get(name: string): RegisteredCommand | undefined;
  /** In the order of the prompt's list: `names` has the same. */
  readonly all: readonly RegisteredCommand[];
  /** Those whose needs are not met: known to people, not to models, and nobody can call them. */
  readonly unavailable: readonly UnavailableCommand[];
  /** Absolute path of the file that defines it, available or not. */
  fileOf(name: string): string | undefined;
}

export interface UnavailableCommand {
  readonly command: RegisteredCommand;
  /** What makes it available, a sentence each. */
  readonly toDo: readonly string[];
}

/** What is set up; a service that is not named is not part of this host. */
export type ServiceStates = Readonly<Partial<Record<ServiceName, ServiceState>>>;

/** For reading what was said earlier, and for documents: as if everything were set up. */
export const ALL_READY: ServiceStates = Object.fromEntries(SERVICES.map((name) => [name, { ready: true }]));

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
  "ask_user",
];
const LAST = ["do_nothing", "task_complete"];

/**
 * Reads the folders in order; a later one overrides by name, a missing one is empty.
 * Files whose names begin with "_" or "." and tests are not commands. Throws GOALD_COMMAND_INVALID.
 */
export async function loadRegistry(folders: readonly string[], services: ServiceStates = {}): Promise<Registry> {
  const commands = new Map<string, RegisteredCommand>();
  const files = new Map<string, string>();
  for (const folder of folders)
    for (const [name, file] of await commandFiles(folder)) {
      commands.set(
        name,
        readCommand(name, file, await loadFile(file), () => readFileSync(file, "utf8")),
      );
      files.set(name, file);
    }
  if (commands.size === 0)
    throw new GoaldError("GOALD_COMMAND_INVALID", `Expected commands, found none in ${folders.join(", ")}.`, {
      hint: "Each command is one file, such as write_to_file.ts.",
    });
  const sorted = [...commands.values()].sort((a, b) => rank(a.name) - rank(b.name) || (a.name < b.name ? -1 : 1));
  const judged = sorted.map((command) => ({ command, toDo: unmet(command, services) }));
  const all = judged.flatMap(({ command, toDo }) => (toDo.length === 0 ? [command] : []));
  const byName = new Map(all.map((command) => [command.name, command]));
  return Object.freeze({
    names: Object.freeze([...byName.keys()]),
    get: (name: string) => byName.get(name),
    all: Object.freeze(all),
    fileOf: (name: string) => files.get(name),
    unavailable: Object.freeze(judged.filter(({ toDo }) => toDo.length > 0)),
  });
}

const unmet = ({ needs }: RegisteredCommand, services: ServiceStates): readonly string[] =>
  needs.flatMap((name) => {
    const state = services[name] ?? { ready: false, toDo: `There is no ${name} in this goald yet.` };
    return state.ready ? [] : [state.toDo];
  });

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
    if (/^[._]/.test(entry) || !/^\.m?[jt]s$/.test(ext) || /\.(?:d|test)$/.test(name)) continue;
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
