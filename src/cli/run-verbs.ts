/** run-verbs.ts -- the verbs that set an agent going: run, resume, replay and fork. */
import { type Command, InvalidArgumentError, Option } from "commander";
import { type Bind, collect, positiveInteger } from "./bind.ts";

export function addRunVerbs(program: Command, bind: Bind): void {
  addRunOptions(
    program
      .command("run")
      .argument("[goal]", "a goal, as --goal gives one")
      .description("set up a new agent, by questions or by flags, and run it here or in the background")
      .addHelpText("before", RUN_EXAMPLES)
      .option("--name <name>", "the agent's name")
      .option("--role <role>", "what it is: “an assistant that …”")
      .option("-g, --goal <goal>", "a goal; repeat it for up to five", collect)
      .option(
        "--from <file>",
        "read ai_name, ai_role and ai_goals from a YAML file; what else is given takes their place",
      )
      .option("-d, --detach", "run it in the background, by the daemon, and return at once")
      .option("--wait", "run it in the background and wait silently; the exit code is the result's"),
    "always here, risky in the background",
  ).action(bind(async ([goal], options) => (await import("./verbs/run.ts")).runVerb(goal, options)));

  addRunOptions(
    program
      .command("resume")
      .argument("[agent]", "id or name; default: the last one that is not finished")
      .description("go on with an agent where its log ends, after a pause, a limit or a crash; limits count from there")
      .addHelpText("before", RESUME_EXAMPLES)
      .option("-d, --detach", "go on in the background, by the daemon, and return at once"),
    "as it has been so far",
  ).action(bind(async ([agent], options) => (await import("./verbs/resume.ts")).resumeVerb(agent, options)));

  addReplayVerb(program, bind);
  addForkVerb(program, bind);
}

function addReplayVerb(program: Command, bind: Bind): void {
  program
    .command("replay")
    .argument("<file>", "what goald run --record has written")
    .description(
      "play a recorded run again, offline and through the real loop; ends with 0 when it comes to the same state",
    )
    .addHelpText("before", REPLAY_EXAMPLES)
    .action(bind(async ([file = ""], options) => (await import("./verbs/replay.ts")).replayVerb(file, options)));
}

function addForkVerb(program: Command, bind: Bind): void {
  program
    .command("fork")
    .argument("<agent>", "id or name")
    .description(
      "a new agent that begins where another stood after a step: its log, memories and files; paused until it is resumed",
    )
    .addHelpText("before", FORK_EXAMPLES)
    .addOption(
      new Option("--step <number>", "after this step; 0 is before the first")
        .argParser((value) => (value === "0" ? 0 : positiveInteger(value)))
        .makeOptionMandatory(),
    )
    .option("-g, --goal <goal>", "a goal in place of those it had; repeat it for up to five", collect)
    .option("--name <name>", "the new agent's name; default: the same")
    .action(
      bind(async ([agent = ""], { step, ...options }) =>
        (await import("./verbs/fork.ts")).forkVerb(agent, Number(step), options),
      ),
    );
}

const FORK_EXAMPLES = `Examples:
  goald fork foo --step 7
  goald fork foo --step 7 --name "Foo in French" --goal "Write it in French"
  goald resume "$(goald fork foo --step 7)" --continuous
`;

const REPLAY_EXAMPLES = `Examples:
  goald replay foo.ndjson
  goald replay foo.ndjson --home ./played
  goald replay foo.ndjson --json
`;

const RUN_EXAMPLES = `Examples:
  goald run
  goald run --name Foo --role "an assistant that plans meals" -g "Plan a week" -g "Write it to plan.md"
  goald run --from agent.yaml --continuous --continuous-limit 50 --json
  goald run -d --from agent.yaml --approve risky --max-time 8h --budget 2.50
  goald run --wait --from agent.yaml --max-steps 200 && cat workspace/foo/plan.md
  goald run --from agent.yaml --continuous --record foo.ndjson && goald replay foo.ndjson
`;

const RESUME_EXAMPLES = `Examples:
  goald resume
  goald resume foo --max-steps 50
  goald resume foo -d --approve risky --max-time 2h
`;

function addRunOptions(command: Command, approveDefault: string): Command {
  return command
    .option("-c, --continuous", "run every command without asking: --approve never")
    .addOption(
      new Option("-l, --continuous-limit <steps>", "stop after so many steps; with --continuous").argParser(
        positiveInteger,
      ),
    )
    .addOption(
      new Option(
        "--approve <mode>",
        `ask a person before every command, before risky ones, or never; default: ${approveDefault}`,
      ).choices(["never", "risky", "always"]),
    )
    .addOption(
      new Option("--max-steps <steps>", "pause after so many more steps, or none for no limit").argParser(
        orNone(positiveInteger),
      ),
    )
    .addOption(
      new Option("--max-tokens <tokens>", "pause after so many more tokens, in and out, or none").argParser(
        orNone(positiveInteger),
      ),
    )
    .addOption(new Option("--budget <usd>", "pause after so many more US dollars, or none").argParser(orNone(dollars)))
    .addOption(
      new Option("--max-time <time>", "pause after that time, such as 30s, 90m, 8h or 2d, or none").argParser(
        orNone(milliseconds),
      ),
    )
    .option("--model <name>", "the model to use, instead of SMART_LLM")
    .option("--record <file>", "write down all that comes from outside, to play it again: goald replay <file>");
}

/** `none` takes a limit away. (For null the parser would put an empty text.) */
const orNone =
  (parse: (value: string) => number) =>
  (value: string): number =>
    value === "none" ? Number.POSITIVE_INFINITY : parse(value);

function dollars(value: string): number {
  const usd = /^\d{1,7}(?:\.\d{1,6})?$/.test(value) ? Number(value) : 0;
  if (usd > 0) return usd;
  throw new InvalidArgumentError("Expected US dollars, more than 0, such as 5 or 0.50, or none.");
}

const UNIT_MS = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const;
const LONGEST_MS = 3_650 * UNIT_MS.d;

function milliseconds(value: string): number {
  const [, count = "", unit = ""] = /^([1-9]\d{0,8})([smhd])$/.exec(value) ?? [];
  const ms = Number(count) * UNIT_MS[unit as keyof typeof UNIT_MS];
  if (count !== "" && ms <= LONGEST_MS) return ms;
  throw new InvalidArgumentError(
    "Expected a whole number and a unit, such as 30s, 90m, 8h or 2d, up to 3650d, or none.",
  );
}
