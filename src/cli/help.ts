/** help.ts -- formats the help, and suggests a correction for a rejected call. */
import { type Command, Help } from "commander";

export const ROOT_EXAMPLES = `Examples:
  goald demo                                      watch a scripted agent: no key needed
  goald run                                       set up an agent by questions and run it
  goald run -d "Plan a week of meals in plan.md"  run an agent in the background
  goald ps                                        list agents;  goald attach ID: follow one
  goald say ID "Leave out the prices"             send an agent a message
`;

/** What a newcomer needs: the only verbs in `goald --help`, unless `--all` is there too. */
export const FIRST_VERBS: readonly string[] = [
  "run",
  "demo",
  "ps",
  "attach",
  "show",
  "say",
  "approve",
  "stop",
  "resume",
  "diff",
  "restore",
  "doctor",
];

/** Shows only names in the list of verbs. */
export const HELP_STYLE: Partial<Help> = {
  showGlobalOptions: true,
  subcommandTerm: (verb) => {
    const isShort = verb.parent?.parent == null || verb.parent.name() === "memory";
    return isShort ? verb.name() : new Help().subcommandTerm(verb);
  },
};

/** Verbs of other programs, with goald's equivalents. */
const FOREIGN: Readonly<Record<string, string>> = {
  ls: "ps",
  list: "ps",
  agents: "ps",
  top: "ps --watch",
  inspect: "show",
  report: "show ID --report",
  files: "show ID --files",
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
  kill: "stop --now",
  start: "run",
  new: "commands NAME --new",
  "install-service": "help up; docs/service.md has a unit and a plist",
  create: "run",
  remove: "rm",
  delete: "rm",
  yes: "approve",
  no: "deny",
  undo: "restore",
  set: "config",
  settings: "config",
  setup: "init",
  version: "--version",
};

/** Returns the hint for a call that the parser rejects. `suggestion`: the parser's own, or "". */
export function hintFor(verb: Command, message: string, suggestion: string): string {
  const path = pathOf(verb);
  const [, word = ""] = /^unknown command '(.+)'$/.exec(message) ?? [];
  const meant = path === "goald" && Object.hasOwn(FOREIGN, word) ? FOREIGN[word] : undefined;
  if (meant !== undefined) return `Did you mean goald ${meant}?`;
  if (suggestion !== "") return suggestion;
  if (path === "goald config" && message.startsWith("too many arguments"))
    return "To write a setting: goald config NAME VALUE. Put several words in quotes.";
  return `${path === "goald" ? "See what there is" : "See how it is called"}: ${path} --help`;
}

const pathOf = (verb: Command): string => (verb.parent ? `${pathOf(verb.parent)} ${verb.name()}` : verb.name());

/** Returns the verb and all verbs below it. */
export const allVerbs = (verb: Command): readonly Command[] => [verb, ...verb.commands.flatMap(allVerbs)];
