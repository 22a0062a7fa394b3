/** reading-verbs.ts -- the verbs that look: at agents, steps, files, logs. `restore` alone changes something: files. */
import { type Command, InvalidArgumentError, Option } from "commander";
import { type Bind, positiveInteger } from "./bind.ts";

const AGENT = ["<agent>", "id or name"] as const;

export function addReadingVerbs(program: Command, bind: Bind): void {
  addAgentVerbs(program, bind);
  addFileVerbs(program, bind);
  addLogVerbs(program, bind);
}

function addAgentVerbs(program: Command, bind: Bind): void {
  program
    .command("ps")
    .description("list the agents of this home: those that are not over, and those that ended within a day")
    .addHelpText("before", examples("goald ps", "goald ps -a --json", "goald ps --watch"))
    .option("-a, --all", "list those too that ended long ago")
    .option("-w, --watch", "show it again and again, until Ctrl-C")
    .action(bind(async (_args, options) => (await import("./verbs/ps.ts")).ps(options)));
  program
    .command("show")
    .argument(...AGENT)
    .description("an agent's goals, state, cost and files; with --step all of one step")
    .addHelpText("before", examples("goald show foo", "goald show foo --step 3", "goald show foo --step 3 --json"))
    .addOption(step("--step <number>", "that step: prompt, recalls, reply, command, result, files"))
    .action(
      bind(async ([agent = ""], { step, ...options }) =>
        typeof step === "number"
          ? (await import("./verbs/show-step.ts")).showStep(agent, step, options)
          : (await import("./verbs/show.ts")).show(agent, options),
      ),
    );
  program
    .command("report")
    .argument(...AGENT)
    .description("what an agent did, in words: goals, files, sources, failures, cost, what to do next")
    .addHelpText("before", examples("goald report foo", "goald report foo > foo.md", "goald report foo --json"))
    .action(bind(async ([agent = ""], options) => (await import("./verbs/report.ts")).report(agent, options)));
  program
    .command("events")
    .argument(...AGENT)
    .description("an agent's log, one event a line")
    .addHelpText("before", examples("goald events foo", "goald events foo --after 120 --json"))
    .addOption(new Option("--after <seq>", "only events after this number").argParser(positiveInteger))
    .action(bind(async ([agent = ""], options) => (await import("./verbs/read.ts")).events(agent, options)));
  program
    .command("verify")
    .argument("[agent]", "id or name; default: all")
    .description("check the hash chain and every reference of the store")
    .addHelpText("before", examples("goald verify", "goald verify foo"))
    .action(bind(async ([agent], options) => (await import("./verbs/read.ts")).verify(agent, options)));
}

function addFileVerbs(program: Command, bind: Bind): void {
  program
    .command("files")
    .argument(...AGENT)
    .description("what an agent wrote, and in which step")
    .addHelpText("before", examples("goald files foo", "goald files foo --json"))
    .action(bind(async ([agent = ""], options) => (await import("./verbs/read.ts")).files(agent, options)));
  program
    .command("why")
    .argument("<file>", "agent/path, or an agent's id or name, or a path on this disk")
    .argument("[path]", "the file, after an agent's id or name")
    .description("why a file is there: goals, step, thoughts, and what it rests on")
    .addHelpText(
      "before",
      examples("goald why foo/notes.md", "goald why foo notes.md", "goald why ./workspace/foo/notes.md"),
    )
    .action(bind(async ([file = "", path], options) => (await import("./verbs/why.ts")).why(file, path, options)));
  program
    .command("diff")
    .argument(...AGENT)
    .argument("[path]", "only this file, or the files below this folder")
    .description("what changed in an agent's files; default: in the last step that changed any")
    .addHelpText(
      "before",
      examples(
        "goald diff foo",
        "goald diff foo --to 7",
        "goald diff foo notes.md --from 3 --to 9",
        "goald diff foo --from 0 --stat",
      ),
    )
    .addOption(step("--from <step>", "as the files were after this step; default: the one before --to", true))
    .addOption(step("--to <step>", "as the files were after this step; default: the last one", true))
    .option("--stat", "only how many lines of which file")
    .action(bind(async ([agent = "", path], options) => (await import("./verbs/diff.ts")).diff(agent, path, options)));
  program
    .command("restore")
    .argument(...AGENT)
    .argument("[paths...]", "only these files, or the files below these folders")
    .description("put an agent's files back as they were after a step; what lies there now stays in the history")
    .addHelpText(
      "before",
      examples(
        "goald restore foo --step 3 --dry-run",
        "goald restore foo --step 3",
        "goald restore foo --step 3 notes.md",
      ),
    )
    .addOption(
      step("--step <number>", "as they were after this step; 0 is before the first", true).makeOptionMandatory(),
    )
    .option("-n, --dry-run", "say what would be done, and do nothing")
    .action(
      bind(async ([agent = "", ...paths], { step, ...options }) =>
        (await import("./verbs/restore.ts")).restore(agent, paths, Number(step), options),
      ),
    );
}

function addLogVerbs(program: Command, bind: Bind): void {
  program
    .command("logs")
    .argument("[agent]", "id or name; default: all")
    .description("goald's own log: one line a step, and all that went wrong")
    .addHelpText(
      "before",
      examples(
        "goald logs foo",
        "goald logs -f",
        "goald logs foo --since 2h --level warn",
        "goald logs --daemon --tail 50",
        "goald logs foo --json",
      ),
    )
    .option("-f, --follow", "go on with new lines as they come, until Ctrl-C")
    .option("--since <time>", "lines since then: 90s, 30m, 2h, 3d, or an ISO time")
    .addOption(new Option("-n, --tail <lines>", "only the last lines").argParser(positiveInteger))
    .addOption(step("--step <number>", "only lines of this step"))
    .addOption(
      new Option("--level <level>", "only lines of this level and above").choices([
        "trace",
        "debug",
        "info",
        "warn",
        "error",
        "fatal",
      ]),
    )
    .option("--daemon", "only lines that belong to no agent, and what the daemon printed")
    .action(bind(async ([agent], options) => (await import("./verbs/logs.ts")).logs(agent, options)));
}

const examples = (...lines: readonly string[]): string => `Examples:\n${lines.map((line) => `  ${line}\n`).join("")}`;

const step = (flags: string, description: string, fromZero = false): Option =>
  new Option(flags, description).argParser((value) => (fromZero && value === "0" ? 0 : stepNumber(value, fromZero)));

function stepNumber(value: string, fromZero: boolean): number {
  if (/^[1-9]\d{0,8}$/.test(value)) return Number(value);
  throw new InvalidArgumentError(`Expected the number of a step, from ${fromZero ? 0 : 1}.`);
}
