/**
 * house.ts -- what every verb begins with: which home, which settings, how to talk to the person.
 */
import { homedir } from "node:os";
import { findHome, type Home } from "#config/home.ts";
import { loadSettings, type SettingFlags } from "#config/load.ts";
import type { Settings } from "#config/settings.ts";
import { type LineInput, openLineInput } from "#terminal/ask.ts";
import { clean } from "#util/clean.ts";
import { createRedactor, createValueRedactor, type Redact } from "#util/redact.ts";
import { CHECKOUT } from "../shipped.ts";

/** The options that every verb takes, as the command line parser gives them. */
export interface GlobalOptions {
  readonly home?: string;
  readonly json?: boolean;
  readonly color?: boolean;
  readonly input?: boolean;
}

/** How a verb speaks. Data goes to standard output; with --json all talk goes to standard error. */
export interface Talk {
  readonly json: boolean;
  /** Both ends are a terminal and nobody said --no-input. */
  readonly interactive: boolean;
  data(line: string): void;
  say(line: string): void;
  /** The person's lines; opened at the first question. */
  input(): LineInput;
  close(): void;
}

export interface House {
  readonly home: Home;
  readonly settings: Settings;
  /** For what is shown and logged: known secrets, and what looks like one. */
  readonly redact: Redact;
  /** For what is kept and read again: known secrets only. */
  readonly scrub: Redact;
  readonly talk: Talk;
  readonly colour: boolean;
}

export function openTalk(options: GlobalOptions): Talk {
  const json = options.json === true;
  const { stdin, stdout } = process;
  const interactive = !json && options.input !== false && stdin.isTTY === true && stdout.isTTY === true;
  let input: LineInput | undefined;
  return {
    json,
    interactive,
    data: (line) => console.log(line),
    say: (line) => (json ? console.error(line) : console.log(line)),
    input: () => {
      input ??= openLineInput(stdin, stdout);
      return input;
    },
    close: () => input?.close(),
  };
}

export async function openHouse(options: GlobalOptions, flags: SettingFlags = {}): Promise<House> {
  const talk = openTalk(options);
  const home = await findHome({
    flag: options.home,
    env: process.env,
    cwd: process.cwd(),
    checkout: CHECKOUT,
    userHome: homedir(),
    configHome: process.env.XDG_CONFIG_HOME,
    isTerminal: talk.interactive,
    askTrust: (folder) => askTrust(folder, talk),
    uid: process.getuid?.(),
  });
  const { settings, secrets, notes } = await loadSettings({ home, env: process.env, flags });
  for (const note of notes) console.error(clean(note));
  const colour = options.color !== false && settings.color && !settings.plainOutput && isColourTerminal();
  return { home, settings, redact: createRedactor(secrets), scrub: createValueRedactor(secrets), talk, colour };
}

const isColourTerminal = (): boolean => process.stdout.isTTY === true && process.env.TERM !== "dumb";

async function askTrust(folder: string, talk: Talk): Promise<boolean> {
  talk.say(`${clean(folder)} looks like a goald home. Its commands are programs and its .env holds keys.`);
  const answer = await talk.input().askLine("Do you trust this folder? (y/n) ");
  return answer?.trim().toLowerCase() === "y";
}
