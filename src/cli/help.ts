/**
 * help.ts -- how the command line explains itself: the verbs in groups, each in a few words, and what to type instead of
 * what was not understood.
 */
import { Command, Help } from "commander";

export const ROOT_EXAMPLES = `Examples:
  goald demo                                      see an agent at work: no key needed
  goald run                                       set one up by questions, and run it here
  goald run -d "Plan a week of meals in plan.md"  run one in the background
  goald ps                                        how they are;  goald attach ID: watch one
  goald say ID "Leave out the prices"             tell it something
`;

/** In the order of `goald --help`. Every verb that is not hidden stands in one of them. */
const GROUPS: readonly (readonly [heading: string, verbs: Readonly<Record<string, string>>])[] = [
  [
    "Set agents going:",
    {
      run: "a new agent, here or in the background (-d)",
      resume: "go on after a pause, a limit or a crash",
      replay: "play a recorded run again, offline",
      fork: "a new agent from a past step of another",
      demo: "a recorded agent at work: no key, no network",
    },
  ],
  [
    "Look at agents:",
    {
      ps: "list them",
      attach: "follow one live, and answer what it asks",
      show: "its goals, state, cost, files; --step: all of a step",
      report: "what it did, in words",
      logs: "goald's own log, one line a step",
      events: "its event log",
    },
  ],
  [
    "Steer agents:",
    {
      say: "tell it something",
      goals: "show or change its goals",
      approve: "let the command run that it asks about",
      deny: "do not, and say what to do instead",
      pause: "let it finish its step, then wait",
      stop: "let it finish its step and report, and wait for that",
      kill: "end what it does at once",
      rm: "forget it",
    },
  ],
  [
    "Files of agents:",
    {
      files: "what it wrote, and in which step",
      why: "why a file is there",
      diff: "what changed between two steps",
      restore: "put files back as they were after a step",
    },
  ],
  [
    "Memory of agents:",
    {
      memory: "look, search, add, correct, forget",
      ingest: "have files or pages read into it",
    },
  ],
  [
    "The daemon:",
    {
      up: "start it; verbs that need it do so themselves",
      down: "end it; unfinished agents wait for the next start",
      restart: "end it and start this version of it",
      status: "whether it runs, and how it is",
      reload: "let it read settings, commands and words again",
      "install-service": "start it with your session (systemd, launchd)",
    },
  ],
  [
    "This home:",
    {
      init: "make a home: folders, .env, an example agent",
      commands: "what agents can do, and what to set for more",
      new: "begin a command of your own",
      config: "show and change settings",
      doctor: "check everything, and say what to do",
      verify: "check the hash chain of the store",
      help: "explain a verb: goald help run",
    },
  ],
];

/** After all verbs are added. */
export function explainVerbs(program: Command): void {
  program.addHelpCommand(new Command("help").argument("[verb...]").helpOption(false));
  const verbs = new Help().visibleCommands(program);
  for (const [heading, summaries] of GROUPS)
    for (const verb of verbs) {
      const summary = summaries[verb.name()];
      if (summary !== undefined) verb.helpGroup(heading).summary(summary);
    }
}

const ORDER = GROUPS.flatMap(([, summaries]) => Object.keys(summaries));
const placeOf = (verb: Command): number => ORDER.indexOf(verb.name());

/** The list of verbs is short: names alone, in the order of the groups. */
export const HELP_STYLE: Partial<Help> = {
  showGlobalOptions: true,
  subcommandTerm: (verb) => (verb.parent?.parent ? new Help().subcommandTerm(verb) : verb.name()),
  visibleCommands: (verb) => new Help().visibleCommands(verb).sort((a, b) => placeOf(a) - placeOf(b)),
  groupItems: (_unsorted, visible, groupOf) => Map.groupBy(visible, groupOf),
};

/** `goald help config set` is `goald config set --help`; a verb that is not there is an error as anywhere else. */
export function withHelp(program: Command, args: readonly string[]): readonly string[] {
  const at = args.findIndex((arg, index) => !arg.startsWith("-") && args[index - 1] !== "--home");
  const asked = args.slice(at + 1).filter((arg, index, all) => !arg.startsWith("-") && all[index - 1] !== "--home");
  if (args[at] !== "help" || asked.length === 0) return args;
  if (asked[0] === "help") return ["--help"];
  const [verb = "", ...rest] = asked;
  return findVerb(program, verb) ? [verb, ...rest, "--help"] : [verb];
}

function findVerb(program: Command, name: string): Command | undefined {
  return program.commands.find((verb) => verb.name() === name);
}

/** Words of other programs that people try. */
const FOREIGN: Readonly<Record<string, string>> = {
  ls: "ps",
  list: "ps",
  agents: "ps",
  top: "ps --watch",
  inspect: "show",
  remember: "memory <agent> add",
  recall: "memory <agent> search",
  forget: "memory <agent> forget",
  log: "logs",
  journal: "logs",
  tail: "logs -f",
  tell: "say",
  message: "say",
  feedback: "say",
  continue: "resume",
  unpause: "resume",
  create: "run",
  remove: "rm",
  delete: "rm",
  yes: "approve",
  no: "deny",
  undo: "restore",
  set: "config set",
  settings: "config list",
  setup: "init",
  version: "--version",
};

/** What to do about a call that was not understood. `suggestion`: the parser's own, empty when it has none. */
export function adviceOn(verb: Command, message: string, suggestion: string): string {
  const path = pathOf(verb);
  const [, word = ""] = /^unknown command '(.+)'$/.exec(message) ?? [];
  const meant = path === "goald" && Object.hasOwn(FOREIGN, word) ? FOREIGN[word] : undefined;
  if (meant !== undefined) return `Did you mean goald ${meant}?`;
  if (suggestion !== "") return suggestion;
  if (path === "goald start" && message.startsWith("too many arguments"))
    return "To go on with an agent: goald resume. To set up a new one: goald run";
  return `${path === "goald" ? "See what there is" : "See how it is called"}: ${path} --help`;
}

const pathOf = (verb: Command): string => (verb.parent ? `${pathOf(verb.parent)} ${verb.name()}` : verb.name());

/** The verb and all below it. */
export const allVerbs = (verb: Command): readonly Command[] => [verb, ...verb.commands.flatMap(allVerbs)];
