/** run-verbs.ts -- the verbs that set an agent going: run and resume. */
import { type Command, Option } from "commander";
import { type Bind, collect, positiveInteger } from "./bind.ts";

export function addRunVerbs(program: Command, bind: Bind): void {
  addRunOptions(
    program
      .command("run")
      .argument("[goal]", "one more goal")
      .description("set up a new agent, by questions or by flags, and run it here")
      .addHelpText("before", RUN_EXAMPLES)
      .option("--name <name>", "the agent's name")
      .option("--role <role>", "what it is: “an assistant that …”")
      .option("-g, --goal <goal>", "a goal; repeat it for up to five", collect, [])
      .option("--from <file>", "read ai_name, ai_role and ai_goals from a YAML file"),
  ).action(bind(async ([goal], options) => (await import("../verbs/run.ts")).runVerb(goal, options)));

  addRunOptions(
    program
      .command("resume")
      .argument("[agent]", "id or name; default: the last one that is not finished")
      .description("go on with an agent where its log ends, after a pause, a limit or a crash"),
  ).action(bind(async ([agent], options) => (await import("../verbs/run.ts")).resumeVerb(agent, options)));
}

const RUN_EXAMPLES = `Examples:
  goald run
  goald run --name Foo --role "an assistant that plans meals" -g "Plan a week" -g "Write it to plan.md"
  goald run --from agent.yaml --continuous --continuous-limit 50 --json
`;

function addRunOptions(command: Command): Command {
  return command
    .option("-c, --continuous", "run every command without asking")
    .addOption(
      new Option("-l, --continuous-limit <steps>", "stop after so many steps; with --continuous").argParser(
        positiveInteger,
      ),
    )
    .option("--model <name>", "the model to use, instead of SMART_LLM");
}
