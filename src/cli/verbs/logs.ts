/**
 * logs.ts -- `goald logs`: prints and follows goald's own log, with filters.
 *
 * Secrets were redacted when the lines were written. Lines are also cleaned for the terminal, since others can write
 * into the file. With --json each line is printed exactly as in the file.
 */
import { join } from "node:path";
import { printNote } from "#cli/terminal/print.ts";
import { EXIT, GoaldError } from "#core/errors.ts";
import { systemClock } from "#util/clock.ts";
import { clean } from "#util/outside-text.ts";
import { describeLogLine, type LevelName, type LogFilter, matchesFilter, readLogLine } from "#views/log-line.ts";
import { flag, positiveInteger, step, text, value } from "../option.ts";
import { type CliContext, type GlobalOptions, openContext } from "../shared/context.ts";
import { openLogReader } from "../shared/log-files.ts";
import { withReading } from "../shared/reading.ts";
import { untilInterrupt } from "../shared/until-interrupt.ts";
import { defineVerb, NO_AGENT } from "../verb.ts";

export const verb = defineVerb({
  description: "print goald's own log: one line per step, and every failure",
  examples: [
    "goald logs foo",
    "goald logs -f",
    "goald logs foo --since 2h --level warn",
    "goald logs --daemon --tail 50",
    "goald logs foo --json",
  ],
  arguments: [{ name: "[agent]", about: "id or name (default: all agents)" }],
  options: {
    follow: flag("-f, --follow", "print new lines as they come, until Ctrl-C"),
    since: text("--since <time>", "print lines since then: 90s, 30m, 2h, 3d, or an ISO time"),
    tail: value("-n, --tail <lines>", "print only this many last lines", positiveInteger),
    step: step("--step <number>", "print only lines of this step"),
    level: {
      ...text("--level <level>", "print only lines of this level and above"),
      choices: ["trace", "debug", "info", "warn", "error", "fatal"],
    },
    daemon: flag("--daemon", "print only lines that belong to no agent, and the daemon's own output"),
  },
  exitCodes: NO_AGENT,
  run: ([agent], options) => logs(agent, options),
});

export interface LogsOptions extends GlobalOptions {
  readonly follow?: boolean;
  readonly since?: string;
  readonly tail?: number;
  readonly step?: number;
  readonly level?: LevelName;
  readonly daemon?: boolean;
}

const LOOK_EVERY_MS = 150;

export async function logs(agent: string | undefined, options: LogsOptions): Promise<number> {
  if (agent !== undefined && options.daemon)
    throw new GoaldError("GOALD_USAGE", "Expected an agent or --daemon, got both.", {
      hint: `Of one agent: goald logs ${agent}. Of no agent: goald logs --daemon`,
    });
  const since = options.since === undefined ? undefined : timeOf(options.since, systemClock.now());
  const context = await openContext(options);
  try {
    const filter = await filterOf(agent, options, since, context);
    await printLines(filter, options, context);
    return EXIT.ok;
  } finally {
    context.output.close();
  }
}

async function filterOf(
  agent: string | undefined,
  { step, level, daemon = false }: LogsOptions,
  since: number | undefined,
  context: CliContext,
): Promise<LogFilter> {
  const id = agent === undefined ? undefined : (await withReading(context, (reading) => reading.agent(agent))).id;
  return {
    ...(id === undefined ? {} : { agent: id }),
    ...(step === undefined ? {} : { step }),
    ...(level === undefined ? {} : { level }),
    ...(since === undefined ? {} : { since }),
    withoutAgent: daemon,
  };
}

async function printLines(filter: LogFilter, options: LogsOptions, context: CliContext): Promise<void> {
  const { tail, follow = false, daemon = false } = options;
  // A daemon that dies may print errors that it cannot log.
  const names = daemon ? ["goald.log", "daemon.out"] : ["goald.log"];
  const files = names.map((name) => openLogReader(join(context.home.logFolder, name)));
  let shown = 0;
  const print = printer(context);
  const show = (text: string): void => {
    shown += 1;
    print(text);
  };
  const read = (onWanted: (text: string) => void, toTheEnd: boolean): void => {
    const take = (text: string): void => {
      if (matchesFilter(readLogLine(text), filter)) onWanted(text);
    };
    for (const file of files) {
      file.read(take);
      if (toTheEnd && file.rest() !== "") take(file.rest());
    }
  };
  const readAll = (): void => {
    const held: string[] = [];
    const hold = (text: string): void => {
      if (tail !== undefined && held.push(text) > tail) held.shift();
    };
    read(tail === undefined ? show : hold, !follow);
    for (const text of held) show(text);
    if (!context.output.json && shown === 0) printNote(follow ? "No such line yet." : "No such line in the log.");
  };
  let next = readAll;
  // Ctrl-C is not a failure, even while the first lines are printed.
  if (follow)
    await untilInterrupt(LOOK_EVERY_MS, async () => {
      next();
      next = () => read(show, false);
    });
  else readAll();
  for (const file of files) file.close();
}

function printer({ output, redact }: CliContext): (text: string) => void {
  return (text) => {
    const line = readLogLine(text);
    if (!output.json) output.data(redact(clean(describeLogLine(line))));
    else if (line.record) output.data(redact(text));
  };
}

const UNITS_MS: Readonly<Record<string, number>> = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/** Returns milliseconds since 1970. Throws GOALD_USAGE. */
function timeOf(text: string, now: Date): number {
  const [, count, unit] = /^(\d{1,6})([smhd])$/.exec(text.trim()) ?? [];
  if (count !== undefined && unit !== undefined) return now.getTime() - Number(count) * (UNITS_MS[unit] ?? 0);
  const time = /^\d{4}-\d\d/.test(text) ? Date.parse(text) : Number.NaN;
  if (!Number.isNaN(time)) return time;
  throw new GoaldError("GOALD_USAGE", `Expected a time for --since, got ${JSON.stringify(text)}.`, {
    hint: "How long ago, such as 90s, 30m, 2h, 3d; or when: 2026-11-20T08:00:00Z",
  });
}
