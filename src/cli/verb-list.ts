/**
 * verb-list.ts -- names, groups and summaries of all verbs, in the order of `goald --help`, which loads no verb. To add
 * a verb, declare it in a file of verbs/, add a line here and one in registry.ts, and run `npm run docs`.
 */
import { resolve } from "node:path";

/** By the title of the group; verbs below another one are listed in the help of that one. */
const LIST = {
  "Set agents going": {
    run: "start a new agent, here or in the background (-d)",
    resume: "continue an agent after a pause, a limit or a crash",
    replay: "replay a recorded run, offline",
    test: "run the agents of files and print their checks",
    fork: "create an agent from a past step of another",
    demo: "run a scripted agent: no key, no network",
  },
  "Look at agents": {
    ps: "list agents",
    attach: "follow an agent live and answer its questions",
    show: "show an agent, a step, its report or files",
    logs: "print goald's own log",
    events: "print an agent's event log",
  },
  "Steer agents": {
    say: "send an agent a message",
    goals: "show or change an agent's goals",
    plan: "show or change an agent's plan",
    approve: "run the pending command",
    deny: "reject the pending command, with feedback",
    trust: "trust words from outside that you have looked at",
    pause: "pause an agent after its step",
    stop: "stop an agent after its step, with a report",
    rm: "remove an agent; its folder stays",
  },
  "Files of agents": {
    why: "explain why a file exists",
    diff: "compare files between two steps",
    restore: "restore files as they were after a step",
  },
  "Memory of agents": {
    memory: "list, search, add, correct, forget",
    "memory list": "list memories, newest first",
    "memory search": "search as the agent's recall does",
    "memory add": "add a note or a fact",
    "memory correct": "replace a wrong memory",
    "memory forget": "erase memories; they are never recalled again",
    "memory export": "write a memory as JSON lines",
    "memory import": "add the memories of an exported file",
    ingest: "read files or pages into a memory",
  },
  "The daemon": {
    up: "start the daemon (most verbs do so themselves)",
    down: "stop the daemon; agents go on at its next start",
    restart: "restart the daemon with this version",
    status: "show whether it is running, its load and limits",
    dashboard: "print the address of goald's page, or open it",
    reload: "reload settings, commands and prompts",
  },
  "This home": {
    init: "make a home: folders, .env, an example agent",
    commands: "list the commands of agents, or create one (--new)",
    config: "show and change settings",
    models: "list the server's models, their use and price",
    doctor: "check everything and explain what to fix",
    verify: "check the hash chains of the store",
    backup: "write a verified copy of the store",
    completion: "print shell completion (bash, zsh, fish)",
  },
  // Called by plain goald, by verbs that need the daemon, and by shells.
  "": {
    plain: "list agents; without any, set one up on a terminal, or run the demo",
    daemon: "run the daemon in this process; started by other verbs",
    complete: "print what may stand at the cursor of a command line; for shells",
  },
} as const;

export type Group = Exclude<keyof typeof LIST, "">;
export type VerbName = { [Title in keyof typeof LIST]: keyof (typeof LIST)[Title] }[keyof typeof LIST];

/** What `goald --help` says of a verb. It omits those without a group. */
export interface VerbSummary {
  readonly group?: Group;
  readonly summary: string;
}

const ROWS = Object.entries(LIST).flatMap(([title, rows]) =>
  Object.entries<string>(rows).map(([name, summary]) => {
    const isListed = title !== "" && !name.includes(" ");
    return [name as VerbName, { ...(isListed ? { group: title as Group } : {}), summary }] as const;
  }),
);

export const SUMMARIES = Object.fromEntries(ROWS) as Readonly<Record<VerbName, VerbSummary>>;
export const VERB_NAMES: readonly VerbName[] = ROWS.map(([name]) => name);

/** Verbs that need no home; messages name them without --home. */
const HOMELESS: readonly string[] = ["init", "demo", "replay", "completion"];

const shown = VERB_NAMES.filter((name) => SUMMARIES[name].group !== undefined);
const verbs = shown.filter((name) => !HOMELESS.includes(name)).join("|");

/** Matches from `goald` and a verb to the end of the line, code or clause. Use it only for goald's own texts. */
const CALL = new RegExp(`\\bgoald (?:${verbs})\\b[^\\n\`]*?(?=[\\n\`)]|, |; |\\.(?: |$)|$)`, "g");

/** Matches `goald` before any verb. */
const NAME = new RegExp(`(?<!npx )\\bgoald (?=(?:${shown.join("|")}|help)\\b)`, "g");

/** Returns `npx goald` when npx or npm started goald, because then it may not be on the PATH. */
export const ownName = ({ npm_command: by }: NodeJS.ProcessEnv = process.env): string =>
  by === "exec" || by === "start" ? "npx goald" : "goald";

/**
 * Completes the goald calls in messages by `--home` and `npx`, so that a pasted call works for the same home. Code that
 * writes a message does not have the home of the command line, nor the way goald was started. `home`: the folder after
 * --home, if any. Texts that mention --home stay unchanged.
 */
export function callsFor(home: string | undefined, text: string, name = ownName()): string {
  const named = text.replace(NAME, `${name} `);
  if (home === undefined || text.includes("--home")) return named;
  const flag = `--home ${quoteForShell(resolve(home))}`;
  return named.replace(CALL, (call) => `${call} ${flag}`);
}

/** As it is where a shell needs no quotes. A path that begins with a hyphen does not become an option. */
export const shellWord = (path: string): string =>
  /^[\w./][\w./-]*$/.test(path) ? path : quoteForShell(path.replace(/^-/, "./-"));

export const quoteForShell = (text: string): string =>
  /[$`"\\!]/.test(text) ? `'${text.replaceAll("'", "'\\''")}'` : `"${text}"`;
