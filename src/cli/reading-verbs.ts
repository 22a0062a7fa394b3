/** reading-verbs.ts -- the verbs that only look. */
import { type Command, Option } from "commander";
import { type Bind, positiveInteger } from "./bind.ts";

export function addReadingVerbs(program: Command, bind: Bind): void {
  program
    .command("ps")
    .description("list the agents of this home")
    .action(bind(async (_args, options) => (await import("../verbs/read.ts")).ps(options)));
  program
    .command("show")
    .argument("<agent>", "id or name")
    .description("an agent's goals, state, cost and files")
    .action(bind(async ([agent], options) => (await import("../verbs/read.ts")).show(agent ?? "", options)));
  program
    .command("events")
    .argument("<agent>", "id or name")
    .description("an agent's log, one event a line")
    .addOption(new Option("--after <seq>", "only events after this number").argParser(positiveInteger))
    .action(bind(async ([agent], options) => (await import("../verbs/read.ts")).events(agent ?? "", options)));
  program
    .command("files")
    .argument("<agent>", "id or name")
    .description("what an agent wrote, and in which step")
    .action(bind(async ([agent], options) => (await import("../verbs/read.ts")).files(agent ?? "", options)));
  program
    .command("verify")
    .argument("[agent]", "id or name; default: all")
    .description("check the hash chain and every reference of the store")
    .action(bind(async ([agent], options) => (await import("../verbs/read.ts")).verify(agent, options)));
}
