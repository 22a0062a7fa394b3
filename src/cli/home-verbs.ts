/** home-verbs.ts -- the verbs about a home itself: init, commands, new, config. */
import type { Command } from "commander";
import type { Bind } from "./bind.ts";

export function addHomeVerbs(program: Command, bind: Bind): void {
  program
    .command("init")
    .argument("[folder]", "default: the home that goald would use")
    .description("make a home: its folders, a .env to fill in, an example agent")
    .addHelpText("before", INIT_EXAMPLES)
    .action(bind(async ([folder], options) => (await import("./verbs/init.ts")).init(folder, options)));

  program
    .command("commands")
    .argument("[name]", "one of them, in full")
    .description("what agents can do: state, arguments, effect, risk, and what to set for the rest")
    .addHelpText("before", COMMANDS_EXAMPLES)
    .action(bind(async ([name], options) => (await import("./verbs/commands.ts")).commands(name, options)));

  program
    .command("new")
    .description("begin something of your own")
    .addHelpText("before", NEW_EXAMPLES)
    .command("command")
    .argument("<name>", "small letters, digits and underscores")
    .description("a command for your agents: a file that works as it stands, and its test")
    .addHelpText("before", NEW_EXAMPLES)
    .action(bind(async ([name = ""], options) => (await import("./verbs/new-command.ts")).newCommand(name, options)));

  const config = program
    .command("config")
    .description("show and change settings")
    .addHelpText("before", CONFIG_EXAMPLES);
  config
    .command("list")
    .description("every setting with its value")
    .option("--show-origin", "and where it comes from: flag, environment, .env, goald.json or default")
    .action(bind(async (_args, options) => (await import("./verbs/config.ts")).configList(options)));
  config
    .command("get")
    .argument("<name>", "a setting, or one of its variables")
    .description("one setting's value; of a key whether it is set")
    .option("--show-origin", "and where it comes from")
    .action(bind(async ([name = ""], options) => (await import("./verbs/config.ts")).configGet(name, options)));
  config
    .command("set")
    .argument("<name>", "a setting, or one of its variables")
    .argument("<value>", "what it is to be; none: unset, where that is possible")
    .description("write a setting into the home's config/goald.json")
    .addHelpText("before", SET_EXAMPLES)
    .action(
      bind(async ([name = "", value = ""], options) =>
        (await import("./verbs/config.ts")).configSet(name, value, options),
      ),
    );
  config
    .command("unset")
    .argument("<name>", "a setting, or one of its variables")
    .description("take a setting out of the home's config/goald.json")
    .action(bind(async ([name = ""], options) => (await import("./verbs/config.ts")).configUnset(name, options)));
  config
    .command("path")
    .description("where the home's config/goald.json lies, or would lie")
    .action(bind(async (_args, options) => (await import("./verbs/config.ts")).configPath(options)));
}

const INIT_EXAMPLES = `Examples:
  goald init
  goald init ~/agents
`;

const COMMANDS_EXAMPLES = `Examples:
  goald commands
  goald commands google
  goald commands --json
`;

const NEW_EXAMPLES = `Examples:
  goald new command count_words
`;

const CONFIG_EXAMPLES = `Examples:
  goald config list --show-origin
  goald config get models.smart
  goald config set openai.baseUrl http://127.0.0.1:11434/v1
  goald config unset SMART_LLM
`;

const SET_EXAMPLES = `Examples:
  goald config set limits.unattendedSteps 50
  goald config set SMART_LLM gpt-4.1-mini
  goald config set temperature none
`;
