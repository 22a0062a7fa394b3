/**
 * node-program.ts -- the command that runs one of goald's own programs by node in a cage. The program sees node,
 * goald's compiled or source files, and the packages beside them, or the parts that it needs. Node's permission model
 * refuses everything else, also where the cage is not strict. It does not limit the network: see close-network.ts.
 */
import { existsSync, readlinkSync, realpathSync } from "node:fs";
import { dirname, extname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { orUndefined } from "#core/errors.ts";
import { type CagedCommand, NODE_RESERVE_MEGABYTES, readMachine } from "./cage.ts";

export interface NodeProgram {
  readonly program: URL;
  /** Memory that the program may use. A fixed reserve for node is added. */
  readonly memoryMegabytes: number;
  readonly cpuSeconds: number;
  readonly stdio: CagedCommand["stdio"];
  readonly args?: readonly string[];
  /** Absolute paths of further files that the program may read. */
  readonly files?: readonly string[];
  /** Files of goald that the program can read. Default: all rooms, and all installed packages. */
  readonly sees?: ProgramSight;
}

export interface ProgramSight {
  /** Rooms, and files without extension, such as `cage/frames`. */
  readonly sources: readonly string[];
  /** Names of packages. All are seen where one of them is not found beside goald. */
  readonly packages: readonly string[];
}

/** The folder with all of goald's rooms: `src` of a checkout, `dist/src` of the published package. */
const SOURCES = fileURLToPath(new URL("..", import.meta.url)).replace(/[/\\]$/, "");
/** Node itself: its libraries, the stacks of its threads and its heap at the start. */
const NODE_OWN_MEGABYTES = 64;
/** In kilobytes. The parsers of pages recurse. */
const STACK_KILOBYTES = 3_900;

export const nodeFiles = (): readonly string[] => [process.execPath, ...readMachine().libraries];

export function nodeCommand(given: NodeProgram): CagedCommand {
  const { program, memoryMegabytes, cpuSeconds, stdio, args = [] } = given;
  const file = fileURLToPath(program);
  const files = [...programFiles(file, given.sees), ...(given.files ?? [])];
  return {
    command: process.execPath,
    args: [
      "--permission",
      ...files.map((path) => `--allow-fs-read=${path}`),
      ...["--disallow-code-generation-from-strings", "--no-addons", "--no-warnings"],
      // Node collects garbage with one thread: waking more threads costs more processor time than they save.
      "--no-parallel-scavenge",
      ...(process.allowedNodeEnvironmentFlags.has("--disable-sigusr1") ? ["--disable-sigusr1"] : []),
      ...[`--max-old-space-size=${memoryMegabytes}`, `--stack-size=${STACK_KILOBYTES}`],
      file,
      ...args,
    ],
    readOnly: [...nodeFiles(), ...files],
    folder: "/",
    network: "none",
    runsPrograms: false,
    limits: {
      memoryMegabytes: memoryMegabytes + NODE_OWN_MEGABYTES + NODE_RESERVE_MEGABYTES,
      cpuSeconds,
      fileMegabytes: 0,
      openFiles: 64,
    },
    stdio,
  };
}

/** The program, goald's files, the nearest package.json above them, and packages, also where a link leads. */
function programFiles(program: string, sees: ProgramSight | undefined): readonly string[] {
  const above = foldersAbove(SOURCES);
  const manifest = above.map((folder) => join(folder, "package.json")).find(existsSync);
  const packages = above.map((folder) => join(folder, "node_modules")).filter(existsSync);
  const paths = [
    program,
    ...(sees ? sees.sources.map(findSource) : [SOURCES]),
    ...(manifest ? [manifest] : []),
    // Before the packages in it: node 24 ignores a folder that comes after a path below it.
    ...packages.flatMap(linksFrom),
    ...((sees && findPackages(sees.packages, packages)) ?? packages),
  ];
  return [...new Set([...paths, ...paths.map((path) => realpathSync(path))])];
}

/** The path and each link that it leads to; none for a path that is not a link. Node looks at all of them when it resolves a package. */
function linksFrom(path: string): readonly string[] {
  const target = orUndefined(() => readlinkSync(path));
  return target === undefined ? [] : [path, ...linksFrom(resolve(dirname(path), target))];
}

/** A file has this file's extension: .ts in a checkout, .js in the published package. */
function findSource(name: string): string {
  const path = join(SOURCES, name);
  return existsSync(path) ? path : `${path}${extname(import.meta.url)}`;
}

function findPackages(names: readonly string[], folders: readonly string[]): readonly string[] | undefined {
  const found = names.map((name) => folders.map((folder) => join(folder, name)).find(existsSync));
  return found.every((path) => path !== undefined) ? found : undefined;
}

function foldersAbove(folder: string): readonly string[] {
  const parent = dirname(folder);
  return parent === folder ? [] : [parent, ...foldersAbove(parent)];
}
