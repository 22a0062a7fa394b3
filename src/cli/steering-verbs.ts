/** steering-verbs.ts -- the verbs that follow and steer agents that run already. */
import { type Command, InvalidArgumentError, Option } from "commander";
import { type Bind, collect, positiveInteger } from "./bind.ts";

export function addSteeringVerbs(program: Command, bind: Bind): void {
  addAttach(program, bind);
  addWords(program, bind);
  addHalts(program, bind);
  addAnswers(program, bind);
  program
    .command("rm")
    .argument("<agent>", "id or name")
    .description("forget an agent: its log, memory and file history; its folder stays")
    .addHelpText("before", examples("goald rm foo", "goald rm foo --files", "goald rm -f foo"))
    .option("-f, --force", "do not ask, and kill it first when it is not done")
    .option("--files", "remove its folder in the workspace, too")
    .action(bind(async ([agent = ""], options) => (await import("./verbs/remove.ts")).removeVerb(agent, options)));
}

function addAttach(program: Command, bind: Bind): void {
  program
    .command("attach")
    .argument("<agent>", "id or name")
    .description("follow an agent live and answer what it asks; Ctrl-C leaves it to itself")
    .addHelpText("before", examples("goald attach foo", "goald attach foo --since 1", "goald attach foo --json"))
    .addOption(new Option("--since <step>", "show from this step on; default: the last one").argParser(positiveInteger))
    .action(bind(async ([agent = ""], options) => (await import("./verbs/attach.ts")).attachVerb(agent, options)));
}

function addWords(program: Command, bind: Bind): void {
  program
    .command("say")
    .argument("<agent>", "id or name")
    .argument("[words...]", "what to tell it; default: standard input")
    .description("tell an agent something: it reads it with its next step; a finished one begins its next turn")
    .addHelpText(
      "before",
      examples('goald say foo "Leave out the prices"', "goald say foo < notes.txt", 'goald say foo "Now in German"'),
    )
    .action(
      bind(async ([agent = "", ...words], options) => (await import("./verbs/say.ts")).sayVerb(agent, words, options)),
    );
  program
    .command("goals")
    .argument("<agent>", "id or name")
    .description("show an agent's goals, or change them: it reads the new ones with its next step")
    .addHelpText(
      "before",
      examples(
        "goald goals foo",
        'goald goals foo --add "Write a summary" --rm 2',
        'goald goals foo --set "Plan a week" --set "Write it to plan.md"',
      ),
    )
    .option("--set <goal>", "these goals instead; repeat it for up to five", collect)
    .option("--add <goal>", "one more goal; repeat it for several", collect)
    .addOption(
      new Option("--rm <number>", "without this goal; repeat it for several").argParser(
        (value: string, before: readonly number[] = []) => [...before, positiveInteger(value)],
      ),
    )
    .action(bind(async ([agent = ""], options) => (await import("./verbs/goals.ts")).goalsVerb(agent, options)));
}

function addHalts(program: Command, bind: Bind): void {
  const halt = (name: "pause" | "stop" | "kill", description: string, ...lines: readonly string[]): Command =>
    program
      .command(name)
      .argument("[agent]", "id or name")
      .description(description)
      .addHelpText("before", examples(...lines))
      .option("--all", "every agent that is not done")
      .action(bind(async ([agent], options) => (await import("./verbs/halt.ts")).haltVerb(name, agent, options)));
  halt("pause", "let an agent finish its step and wait for goald resume", "goald pause foo", "goald pause --all");
  halt(
    "stop",
    "let an agent finish its step and write its report, and wait for that",
    "goald stop foo",
    "goald stop foo -t 120",
    "goald stop --all",
  ).addOption(
    new Option("-t, --timeout <seconds>", "cut its step off after so many seconds").argParser(seconds).default(30),
  );
  halt("kill", "end what an agent does at once; goald resume goes on from there", "goald kill foo", "goald kill --all");
}

function addAnswers(program: Command, bind: Bind): void {
  program
    .command("approve")
    .argument("<agent>", "id or name")
    .description("let the command run that an agent waits for a yes to")
    .addHelpText("before", examples("goald approve foo", "goald approve foo -N 5"))
    .addOption(
      new Option("-N, --count <count>", "and the ones after it without asking, so many in all")
        .argParser(answerCount)
        .default(1),
    )
    .action(bind(async ([agent = ""], options) => (await import("./verbs/answer.ts")).approveVerb(agent, options)));
  program
    .command("deny")
    .argument("<agent>", "id or name")
    .argument("[words...]", "why, or what to do instead")
    .description("keep the command from running that an agent waits for a yes to")
    .addHelpText("before", examples("goald deny foo", 'goald deny foo --reason "Use the file that is there"'))
    .option("--reason <words>", "why, or what to do instead: the agent reads it")
    .action(
      bind(async ([agent = "", ...words], options) =>
        (await import("./verbs/answer.ts")).denyVerb(agent, words, options),
      ),
    );
}

const examples = (...lines: readonly string[]): string =>
  ["Examples:", ...lines.map((line) => `  ${line}`), ""].join("\n");

function seconds(value: string): number {
  if (/^\d{1,5}$/.test(value) && Number(value) <= 86_400) return Number(value);
  throw new InvalidArgumentError("Expected whole seconds from 0 to 86400.");
}

function answerCount(value: string): number {
  const count = positiveInteger(value);
  if (count <= 1_000) return count;
  throw new InvalidArgumentError("Expected a whole number from 1 to 1000.");
}
