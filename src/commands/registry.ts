/**
 * registry.ts -- loads the command files of the shipped folder and of the home. The file name is the command name, so a
 * later folder overrides an earlier one by name. Each default export of the home is checked once, and all are frozen with
 * their defaults, so later code need not check them again.
 */
import { readFileSync } from "node:fs";
import { join, parse } from "node:path";
import { GoaldError, isGoaldError } from "#core/errors.ts";
import { SERVICES, type ServiceName, type ServiceState } from "#core/services.ts";
import { checkCommand, completeCommand, listEntries, loadCommandFile, type RegisteredCommand } from "./validate.ts";

export type { RegisteredCommand };

export interface Registry {
  get(name: string): RegisteredCommand | undefined;
  /** In the order of the prompt's list. */
  readonly all: readonly RegisteredCommand[];
  /** Commands whose services are not set up: shown to people, hidden from models, not callable. */
  readonly unavailable: readonly UnavailableCommand[];
  /** Absolute path of the defining file, also for unavailable commands. */
  fileOf(name: string): string | undefined;
}

interface UnavailableCommand {
  readonly command: RegisteredCommand;
  /** Each missing step is a sentence. */
  readonly toDo: readonly string[];
}

/** State per service; an absent service is not part of this host. */
export type ServiceStates = Readonly<Partial<Record<ServiceName, ServiceState>>>;

/** Treats all services as set up, to read old replies and to write documents. */
export const ALL_READY: ServiceStates = Object.fromEntries(SERVICES.map((name) => [name, { ready: true }]));

/** AutoGPT's order, with goald's commands for files beside its own, and those for the plan and memory; other commands follow, then `LAST`. */
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
  "edit_file",
  "move_file",
  "delete_file",
  "search_files",
  "evaluate_code",
  "improve_code",
  "write_tests",
  "run_code",
  "execute_python_file",
  "generate_image",
  "send_tweet",
  "read_audio_from_file",
  "ask_user",
  "think",
  "add_task",
  "modify_task",
  "remember",
  "correct_memory",
  "forget_memory",
];
const LAST = ["do_nothing", "task_complete"];

/**
 * Reads the folders in order: later ones override by name, missing ones are empty. Skips tests and files that start with
 * "_" or ".". `mustCheck` is called right before a file is loaded, and returns false for a shipped file, which a test checks:
 * checking all of them takes 20 ms. Throws GOALD_COMMAND_INVALID, which names all invalid files, and what `mustCheck` throws.
 */
export async function loadRegistry(
  folders: readonly string[],
  services: ServiceStates = {},
  mustCheck: (file: string) => boolean = () => true,
): Promise<Registry> {
  const commands = new Map<string, RegisteredCommand>();
  const files = new Map<string, string>();
  const problems: GoaldError[] = [];
  for (const folder of folders)
    for (const [name, file] of await findCommandFiles(folder)) {
      const isOwn = mustCheck(file);
      files.set(name, file);
      try {
        const exported = await loadCommandFile(file);
        const readSource = (): string => readFileSync(file, "utf8");
        commands.set(name, isOwn ? checkCommand(name, file, exported, readSource) : completeCommand(name, exported));
      } catch (thrown) {
        if (!isGoaldError(thrown)) throw thrown;
        problems.push(thrown);
      }
    }
  if (problems.length > 0) throw invalidFiles(problems);
  if (commands.size === 0)
    throw new GoaldError("GOALD_COMMAND_INVALID", `No commands found in ${folders.join(", ")}.`, {
      hint: "Each command is one file, such as write_to_file.ts.",
    });
  const sorted = [...commands.values()].sort(
    (a, b) => rankCommand(a.name) - rankCommand(b.name) || (a.name < b.name ? -1 : 1),
  );
  const judged = sorted.map((command) => ({ command, toDo: listUnmetNeeds(command, services) }));
  const all = judged.flatMap(({ command, toDo }) => (toDo.length === 0 ? [command] : []));
  const byName = new Map(all.map((command) => [command.name, command]));
  return Object.freeze({
    get: (name: string) => byName.get(name),
    all: Object.freeze(all),
    fileOf: (name: string) => files.get(name),
    unavailable: Object.freeze(judged.filter(({ toDo }) => toDo.length > 0)),
  });
}

const invalidFiles = (problems: readonly GoaldError[]): GoaldError =>
  new GoaldError("GOALD_COMMAND_INVALID", problems.map(({ message }) => message).join("\n"), {
    hint: [...new Set(problems.map(({ hint }) => hint))].join("\n"),
    cause: problems[0],
  });

const listUnmetNeeds = ({ needs }: RegisteredCommand, services: ServiceStates): readonly string[] =>
  needs.flatMap((name) => {
    const state = services[name] ?? {
      ready: false,
      toDo: `This version of goald does not provide the service ${name} yet.`,
    };
    return state.ready ? [] : [state.toDo];
  });

function rankCommand(name: string): number {
  const last = LAST.indexOf(name);
  if (last >= 0) return ORDER.length + 1 + last;
  const known = ORDER.indexOf(name);
  return known < 0 ? ORDER.length : known;
}

/** Returns name and absolute path of each command file, sorted by name. */
async function findCommandFiles(folder: string): Promise<ReadonlyMap<string, string>> {
  const files = new Map<string, string>();
  for (const entry of (await listEntries("commands", folder)).sort()) {
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
