/** daemon-verbs.ts -- the daemon's own verbs: start it, end it, see how it is. */
import { type Command, InvalidArgumentError, Option } from "commander";
import type { Bind } from "./bind.ts";

export function addDaemonVerbs(program: Command, bind: Bind): void {
  program
    .command("up")
    .description("start the daemon, unless it runs already; most verbs do that by themselves")
    .addHelpText("before", examples("goald up", "goald up --json", "goald up --foreground --home /srv/goald"))
    .option("--foreground", "run the daemon in this process, for a service manager or a container")
    .action(bind(async (_args, options) => (await import("./verbs/up.ts")).up(options)));
  addStopOptions(
    program
      .command("down")
      .description("end the daemon: steps under way are finished, unfinished agents wait for the next start")
      .addHelpText("before", examples("goald down", "goald down -t 5", "goald down -t 0 --kill")),
  ).action(bind(async (_args, options) => (await import("./verbs/down.ts")).down(options)));
  addStopOptions(
    program
      .command("restart")
      .description("end the daemon and start this version of it; its agents go on where they stand")
      .addHelpText("before", examples("goald restart", "goald restart -t 5")),
  ).action(bind(async (_args, options) => (await import("./verbs/up.ts")).restart(options)));
  program
    .command("status")
    .description("whether the daemon runs, and how it is; exit code 4 when it does not")
    .addHelpText("before", examples("goald status", "goald status --json"))
    .action(bind(async (_args, options) => (await import("./verbs/status.ts")).status(options)));
  program
    .command("reload")
    .description("let the daemon read settings, commands and words again, as SIGHUP does")
    .addHelpText("before", examples("goald reload"))
    .action(bind(async (_args, options) => (await import("./verbs/status.ts")).reload(options)));
  program
    .command("install-service")
    .description("write a systemd user unit or a launchd agent that starts the daemon with your session")
    .addHelpText(
      "before",
      examples("goald install-service --print", "goald install-service", "goald install-service --uninstall"),
    )
    .option("--print", "print it, and write nothing")
    .option("--uninstall", "remove it")
    .option("--force", "replace one that is there and differs")
    .action(bind(async (_args, options) => (await import("./verbs/install-service.ts")).installServiceVerb(options)));
  program
    .command("doctor")
    .description("check everything that goald needs, and say what to do about what is wrong; exit code 1 for that")
    .addHelpText(
      "before",
      examples("goald doctor", "goald doctor --fix", "goald doctor --online", "goald doctor --json"),
    )
    .option("--fix", "repair permissions, and remove the socket that a killed daemon left")
    .option("--online", "ask the model server for its models, too: is it there, does it take the key; costs nothing")
    .action(bind(async (_args, options) => (await import("./verbs/doctor.ts")).doctor(options)));
  // What the other verbs start in the background.
  program
    .command("daemon", { hidden: true })
    .action(
      bind(async (_args, options) => (await import("./verbs/daemon.ts")).daemonVerb({ ...options, revives: false })),
    );
}

function addStopOptions(command: Command): Command {
  return command
    .addOption(
      new Option("-t, --timeout <seconds>", "time for the steps under way; what is not done then is cut off")
        .default(30)
        .argParser(wholeSeconds),
    )
    .option("--kill", "kill it when it does not go; no work that is written down is lost");
}

function wholeSeconds(value: string): number {
  if (/^\d{1,5}$/.test(value)) return Number(value);
  throw new InvalidArgumentError("Expected whole seconds, from 0 to 99999.");
}

const examples = (...lines: readonly string[]): string => `Examples:\n${lines.map((line) => `  ${line}\n`).join("")}`;
