/** context.ts -- the context of a verb: home, settings, redactors and output. */
import { existsSync, rmSync } from "node:fs";
import { access, constants, mkdtemp, stat } from "node:fs/promises";
import { homedir, tmpdir } from "node:os";
import { join } from "node:path";
import { type LineInput, openLineInput } from "#cli/terminal/line-input.ts";
import {
  type LinesBelow,
  type Look,
  layOut,
  openLinesBelow,
  printLine,
  printNote,
  printStyledLine,
  printStyledPart,
} from "#cli/terminal/print.ts";
import { askYesNo } from "#cli/terminal/questions.ts";
import { findHome, type Home } from "#config/home.ts";
import { loadSettings, type SettingFlags } from "#config/load-settings.ts";
import { requireOwned } from "#config/owners.ts";
import type { Settings } from "#config/settings.ts";
import { codeOf, EXIT, GoaldError, toError } from "#core/errors.ts";
import { systemClock } from "#util/clock.ts";
import { clean, inertJson } from "#util/outside-text.ts";
import { createRedactor, createValueRedactor, type Redact, type Redactors } from "#util/redact.ts";
import { CHECKOUT, readVersion } from "../shipped.ts";
import { callsFor, ownName, quoteForShell } from "./verb-list.ts";

/**
 * Makes a home below the system's folder for temporary files, and removes it with all that is in it. `visited`: the
 * present home, whose commands, methods, prompts and configuration are used.
 */
export async function makeTemporaryHome(
  visited: Home,
  options: GlobalOptions,
  { prefix, isKept = false }: { readonly prefix: string; readonly isKept?: boolean },
) {
  const root = await mkdtemp(join(tmpdir(), prefix)).catch((cause: unknown) => {
    const hint = "Set TMPDIR to another folder.";
    throw new GoaldError("GOALD_HOME_UNWRITABLE", `No folder was made: ${toError(cause).message}.`, { hint, cause });
  });
  // An interrupt can end the process at once.
  const remove = (): void => rmSync(root, { recursive: true, force: true, maxRetries: 3 });
  if (!isKept) process.on("exit", remove);
  const { home } = await findContext({ ...options, input: false, home: root });
  return {
    home: { ...home, ...presentFolders(visited) },
    [Symbol.asyncDispose]: async () => {
      if (isKept) return;
      remove();
      process.off("exit", remove);
    },
  };
}

/** A missing folder is left out, because opening a home makes its folders. */
function presentFolders({ commandsFolder, methodsFolder, promptsFolder, configFolder }: Home): Partial<Home> {
  const folders = Object.entries({ commandsFolder, methodsFolder, promptsFolder, configFolder });
  return Object.fromEntries(folders.filter(([, folder]) => existsSync(folder)));
}

/** The global options of all verbs, as the parser returns them. */
export interface GlobalOptions {
  readonly home?: string;
  readonly json?: boolean;
  readonly color?: boolean;
  readonly input?: boolean;
  /** False for verbs that do not concern agents, and for verbs that start or stop the daemon. */
  readonly revives?: boolean;
  /** False for verbs that load nothing from the home. */
  readonly judges?: boolean;
}

/** Output of a verb. Data goes to standard output; with --json, all other text goes to standard error. */
export type Output = Readonly<ReturnType<typeof openOutput>>;

export interface CliContext extends Redactors {
  readonly home: Home;
  readonly settings: Settings;
  readonly output: Output;
}

/** The part of the context that needs no settings. */
export type AtHome = Pick<CliContext, "home" | "output">;

/** Closes its output when it is disposed of. */
type FoundContext = AtHome & Disposable;

function openOutput(options: GlobalOptions) {
  const json = options.json === true;
  const { stdin, stdout } = process;
  const interactive = !json && options.input !== false && stdin.isTTY === true && stdout.isTTY === true;
  let input: LineInput | undefined;
  let below: LinesBelow | undefined;
  const isScreen = !json && canDraw();
  // https://no-color.org: any value of NO_COLOR but an empty one turns colour off.
  const colour = isScreen && options.color !== false && !process.env.NO_COLOR;
  const columns = (isScreen && stdout.columns) || Number.POSITIVE_INFINITY;
  return {
    json,
    colour,
    /** The width of a person's terminal in cells; Infinity elsewhere. */
    columns,
    /** True when input and output are a terminal, without --no-input and --json. */
    interactive,
    data: (line: string): void => printLine(json ? inertJson(line) : line),
    /** With --json, prints the value as data and returns true. Does nothing else. */
    printJson: (value: unknown, redact: Redact = (text) => text): boolean => {
      if (json) printLine(inertJson(redact(JSON.stringify(value))));
      return json;
    },
    /** Data with goald's own styles. */
    styled: printStyledLine,
    /** Data, cleaned, which a person's terminal shows with this look: broken between words, with local times and colours. */
    page: (text: string, look?: Look): void =>
      isScreen ? printStyledLine(layOut(text, { ...look, columns, colour, now: systemClock.now() })) : printLine(text),
    say: (line: string): void => (json ? printNote(line) : printLine(line)),
    /** Writes partial lines for a person, with goald's own styles; absent when the output is not a person's terminal. */
    ...(!json && stdout.isTTY === true ? { write: printStyledPart } : {}),
    /** Lines below all text; opened by the first call, until `close`. Undefined when the output is not a person's terminal. */
    below: (): LinesBelow | undefined => {
      if (isScreen) below ??= openLinesBelow();
      return below;
    },
    /** Lines of the person's input; opened by the first call. */
    input: (): LineInput => {
      input ??= openLineInput(stdin, stdout);
      return input;
    },
    /** Returns the lines that were typed before a question. Returns none before input is opened. */
    takeTypedAhead: async (): Promise<readonly string[]> => (await input?.takeTypedAhead()) ?? [],
    /** True when the person left the last question by Ctrl-C. */
    get interrupted(): boolean {
      return input?.interrupted === true;
    },
    close: (): void => {
      below?.end();
      input?.close();
    },
  };
}

/** Prints a redacted value: with --json its JSON, else its text. Returns the exit code. */
export function printValue(
  { output, redact }: Pick<CliContext, "output" | "redact">,
  value: unknown,
  text: () => string,
  look?: Look,
): number {
  if (!output.printJson(value, redact)) output.page(redact(clean(text())), look);
  return EXIT.ok;
}

/** Restarts a daemon that died with unfinished agents, unless the options prevent it. */
export async function openContext(options: GlobalOptions, flags: SettingFlags = {}): Promise<CliContext & Disposable> {
  using closing = new DisposableStack();
  const found = closing.use(await findOwnContext(options));
  const { home } = found;
  const { settings, secrets, notes } = await loadSettings({ home, env: process.env, flags });
  for (const note of notes) printNote(note);
  if (options.revives !== false && existsSync(join(home.privateFolder, "wanted"))) await reviveDaemon(home);
  closing.move();
  return { ...found, settings, ...redactorsFor(secrets) };
}

/**
 * Finds the home without reading its settings, for verbs that must work with invalid settings. Throws
 * GOALD_HOME_UNTRUSTED for a home that others may change.
 */
export async function findContext(options: GlobalOptions): Promise<FoundContext> {
  // Closes the output after a failure: an open terminal input keeps the process alive.
  using closing = new DisposableStack();
  const output = closing.adopt(openOutput(options), ({ close }) => close());
  const home = await findHome({
    flag: options.home,
    env: process.env,
    cwd: currentFolder(),
    checkout: CHECKOUT,
    userHome: homedir(),
    configHome: process.env.XDG_CONFIG_HOME,
    isTerminal: output.interactive,
    askTrust: (folder) => askTrust(folder, output),
    uid: process.getuid?.(),
  });
  if (options.judges !== false) requireOwned(home);
  closing.move();
  return { home, output, [Symbol.dispose]: output.close };
}

/** Works as `findContext`, for verbs that call the daemon. Throws GOALD_HOME_UNWRITABLE for another user's home. */
export async function findOwnContext(options: GlobalOptions): Promise<FoundContext> {
  using closing = new DisposableStack();
  const context = closing.use(await findContext(options));
  await requireFolder(context.home);
  closing.move();
  return context;
}

export const redactorsFor = (secrets: readonly string[]): Redactors => ({
  redact: createRedactor(secrets),
  scrub: createValueRedactor(secrets),
});

function currentFolder(): string {
  try {
    return process.cwd();
  } catch (cause) {
    throw new GoaldError("GOALD_USAGE", "The folder that goald was started in is not there any more.", {
      hint: "Go to another one, such as: cd ~",
      cause,
    });
  }
}

export const formatCall = (home: Home, ...words: readonly string[]): string => {
  const root = namedRoot(home);
  return [ownName(), ...words, ...(root === undefined ? [] : ["--home", quoteForShell(root)])].join(" ");
};

/** Completes all goald calls in a text of goald in the same way. */
export const callsHere = (home: Home, text: string): string => callsFor(namedRoot(home), text);

const namedRoot = ({ root, chosenBy }: Home): string | undefined => (chosenBy === "--home" ? root : undefined);

const canDraw = (): boolean => process.stdout.isTTY === true && process.env.TERM !== "dumb";

/** Accepts a missing home, or a folder that this user can read. Throws GOALD_HOME_UNWRITABLE for any other. */
async function requireFolder({ root, privateFolder }: Home): Promise<void> {
  const isFolder = (await stat(root).catch(() => undefined))?.isDirectory() ?? true;
  if (isFolder && !(await isClosed(privateFolder))) return;
  const why = isFolder
    ? `its folder ${privateFolder} belongs to another user, or is closed to you`
    : "it is not a folder";
  const hint = "Name another home with --home FOLDER or GOALD_HOME.";
  throw new GoaldError("GOALD_HOME_UNWRITABLE", `The home ${root} cannot be used: ${why}.`, { hint });
}

/** True when the folder exists and this user cannot read it. */
export const isClosed = async (folder: string): Promise<boolean> =>
  (await access(folder, constants.R_OK | constants.X_OK).catch(codeOf)) === "EACCES";

async function askTrust(folder: string, output: Output): Promise<boolean> {
  output.say(`${clean(folder)} looks like a goald home. Its commands are programs and its .env holds keys.`);
  const help = "  y  use it, and do not ask again\n  n  leave it alone";
  return (await askYesNo(output, { question: "Do you trust this folder?", default: false, help })) === true;
}

/** Restarts a missing daemon that has unfinished agents. Never rejects, because reading needs no daemon. */
async function reviveDaemon(home: Home): Promise<void> {
  const { isDaemonMissing } = await import("#api/daemon-files.ts");
  if (!isDaemonMissing(home)) return;
  const [{ revive }, { unfinishedAgents }] = await Promise.all([
    import("#api/find-daemon.ts"),
    import("#app/reading.ts"),
  ]);
  await revive(home, async () => (await unfinishedAgents(home, 1)).length > 0, { version: readVersion() });
}
