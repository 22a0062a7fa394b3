/**
 * house.ts -- what every verb begins with: which home, which settings, how to talk to the person.
 */
import { existsSync } from "node:fs";
import { access, constants, stat } from "node:fs/promises";
import { homedir } from "node:os";
import { join } from "node:path";
import { type LineInput, openLineInput } from "#cli/terminal/line-input.ts";
import { askYesNo } from "#cli/terminal/questions.ts";
import { findHome, type Home } from "#config/home.ts";
import { loadSettings, type SettingFlags } from "#config/load.ts";
import type { Settings } from "#config/settings.ts";
import { GoaldError } from "#core/errors.ts";
import { clean } from "#util/clean.ts";
import { createRedactor, createValueRedactor, type Redact } from "#util/redact.ts";
import { escapeUnseenInJson } from "#util/unseen.ts";
import { CHECKOUT } from "../../shipped.ts";
import { callsFor, ownName, quoteForShell } from "./own-calls.ts";

/** The options that every verb takes, as the command line parser gives them. */
export interface GlobalOptions {
  readonly home?: string;
  readonly json?: boolean;
  readonly color?: boolean;
  readonly input?: boolean;
  /** False for verbs that have nothing to do with agents, or that start and end the daemon themselves. */
  readonly revives?: boolean;
}

/** How a verb speaks. Data goes to standard output; with --json all talk goes to standard error. */
export interface Output {
  readonly json: boolean;
  /** Both ends are a terminal and nobody said --no-input. */
  readonly interactive: boolean;
  data(line: string): void;
  say(line: string): void;
  /** Data for a person's eyes before its line is whole; absent where no person looks on. */
  readonly write?: (text: string) => void;
  /** The person's lines; opened at the first question. */
  input(): LineInput;
  /** Takes lines that were typed while nothing was asked; none when no question was asked yet. */
  takeTypedAhead(): Promise<readonly string[]>;
  /** True when the last question was left by Ctrl-C. */
  readonly interrupted: boolean;
  close(): void;
}

export interface CliContext {
  readonly home: Home;
  readonly settings: Settings;
  /** For what is shown and logged: known secrets, and what looks like one. */
  readonly redact: Redact;
  /** For what is kept and read again: known secrets only. */
  readonly scrub: Redact;
  readonly output: Output;
  readonly colour: boolean;
}

export function openOutput(options: GlobalOptions): Output {
  const json = options.json === true;
  const { stdin, stdout } = process;
  const interactive = !json && options.input !== false && stdin.isTTY === true && stdout.isTTY === true;
  let input: LineInput | undefined;
  return {
    json,
    interactive,
    data: (line) => console.log(json ? escapeUnseenInJson(line) : line),
    say: (line) => (json ? console.error(line) : console.log(line)),
    ...(!json && stdout.isTTY === true ? { write: (text: string) => void stdout.write(text) } : {}),
    input: () => {
      input ??= openLineInput(stdin, stdout);
      return input;
    },
    takeTypedAhead: async () => (await input?.takeTypedAhead()) ?? [],
    get interrupted() {
      return input?.interrupted === true;
    },
    close: () => input?.close(),
  };
}

/** A daemon that died with agents of its own not done is started again first, unless the options say not to. */
export async function openContext(options: GlobalOptions, flags: SettingFlags = {}): Promise<CliContext> {
  const { home, output } = await findContext(options);
  try {
    await requireFolder(home);
    const { settings, secrets, notes } = await loadSettings({ home, env: process.env, flags });
    for (const note of notes) console.error(clean(note));
    const colour = options.color !== false && settings.color && !settings.plainOutput && isColourTerminal();
    if (options.revives !== false && existsSync(join(home.privateFolder, "wanted")))
      await (await import("./revive.ts")).reviveDaemon(home);
    return { home, settings, ...redactorsFor(secrets), output, colour };
  } catch (error) {
    // A terminal that is still being read keeps the process alive.
    output.close();
    throw error;
  }
}

/** Which home, and nothing of what lies in it: for verbs that must work whatever stands in the settings. */
export async function findContext(options: GlobalOptions): Promise<Pick<CliContext, "home" | "output">> {
  const output = openOutput(options);
  try {
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
    return { home, output };
  } catch (error) {
    output.close();
    throw error;
  }
}

/** The same, for verbs that speak to the daemon. Throws GOALD_HOME_UNWRITABLE for a home that is somebody else's. */
export async function findOwnContext(options: GlobalOptions): Promise<Pick<CliContext, "home" | "output">> {
  const context = await findContext(options);
  try {
    await requireFolder(context.home);
    return context;
  } catch (error) {
    context.output.close();
    throw error;
  }
}

/** What keeps these secrets out of what is shown and out of what is kept. */
export const redactorsFor = (secrets: readonly string[]): Pick<CliContext, "redact" | "scrub"> => ({
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

/** A call of goald that works in this home, to be typed by the person. */
export const formatCall = (home: Home, ...words: readonly string[]): string => {
  const root = namedRoot(home);
  return [ownName(), ...words, ...(root === undefined ? [] : ["--home", quoteForShell(root)])].join(" ");
};

/** The calls of goald in a text of ours, likewise. */
export const callsHere = (home: Home, text: string): string => callsFor(namedRoot(home), text);

const namedRoot = ({ root, chosenBy }: Home): string | undefined => (chosenBy === "--home" ? root : undefined);

/** "1 step", "2 steps". */
export const counted = (count: number, noun: string): string => `${count} ${noun}${count === 1 ? "" : "s"}`;

const isColourTerminal = (): boolean => process.stdout.isTTY === true && process.env.TERM !== "dumb";

/** A home need not be there yet; but what is there must be one, and open to us. Throws GOALD_HOME_UNWRITABLE. */
async function requireFolder({ root, privateFolder }: Home): Promise<void> {
  const refuse = (why: string): GoaldError =>
    new GoaldError("GOALD_HOME_UNWRITABLE", `The home ${root} cannot be used: ${why}.`, {
      hint: "Name another home with --home FOLDER or GOALD_HOME.",
    });
  const found = await stat(root).catch(() => undefined);
  if (found && !found.isDirectory()) throw refuse("it is no folder");
  if (await isClosed(privateFolder))
    throw refuse(`its folder ${privateFolder} belongs to another user, or is closed to you`);
}

/** There, and not for us. */
export const isClosed = (folder: string): Promise<boolean> =>
  access(folder, constants.R_OK | constants.X_OK).then(
    () => false,
    ({ code }: NodeJS.ErrnoException) => code === "EACCES",
  );

async function askTrust(folder: string, output: Output): Promise<boolean> {
  output.say(`${clean(folder)} looks like a goald home. Its commands are programs and its .env holds keys.`);
  const isTrusted = await askYesNo(
    { input: output.input(), say: output.say },
    {
      question: "Do you trust this folder?",
      default: false,
      help: "  y  use it, and do not ask again\n  n  leave it alone",
    },
  );
  return isTrusted === true;
}
