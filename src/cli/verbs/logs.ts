/** logs.ts -- `goald logs` and `goald events`: prints goald's own log, and the event log of an agent. */
import { closeSync, constants, fstatSync, openSync, readSync, statSync } from "node:fs";
import { join } from "node:path";
import { printNote } from "#cli/terminal/print.ts";
import { createEventLines, type EventLine } from "#cli/terminal/show-run.ts";
import { EXIT, GoaldError } from "#core/errors.ts";
import { oneLine } from "#core/text.ts";
import { systemClock } from "#util/clock.ts";
import { isRecord, parseJson } from "#util/json.ts";
import { clean, escapeUnseenInJson } from "#util/outside-text.ts";
import { allEvents } from "#views/read-agent.ts";
import { logReader, reading, untilInterrupt, withReading } from "../agents.ts";
import { type CliContext, openContext } from "../context.ts";
import { AGENT, defineVerb, flag, NO_AGENT, type OptionValues, positiveInteger, step, text, value } from "../verb.ts";

const OPTIONS = {
  follow: flag("-f, --follow", "print new lines as they come, until Ctrl-C"),
  since: text("--since <time>", "print lines since then: 90s, 30m, 2h, 3d, or an ISO time"),
  tail: value("-n, --tail <lines>", "print only this many last lines", positiveInteger),
  step: step("--step <number>", "print only lines of this step"),
  level: {
    ...text("--level <level>", "print only lines of this level and above"),
    choices: ["trace", "debug", "info", "warn", "error", "fatal"] as const,
  },
  daemon: flag("--daemon", "print only lines that belong to no agent, and the daemon's own output"),
};
type LogsOptions = OptionValues<typeof OPTIONS>;

export const LOGS = defineVerb({
  description: "print goald's own log: one line per step, and every failure",
  examples: [
    "goald logs chef",
    "goald logs -f",
    "goald logs chef --since 2h --level warn",
    "goald logs --daemon --tail 50",
    "goald logs chef --json",
  ],
  arguments: [{ name: "[agent]", about: "id or name (default: all agents)" }],
  options: OPTIONS,
  exitCodes: NO_AGENT,
  run: async ([agent], options) => {
    if (agent !== undefined && options.daemon)
      throw new GoaldError("GOALD_USAGE", "Expected an agent or --daemon, got both.", {
        hint: `Of one agent: goald logs ${agent}. Of no agent: goald logs --daemon`,
      });
    const since = options.since === undefined ? undefined : timeOf(options.since, systemClock.now());
    using context = await openContext(options);
    const id = agent === undefined ? undefined : (await withReading(context, (reading) => reading.agent(agent))).id;
    const { step, level, daemon } = options;
    await printLines({ agent: id, step, level, since, withoutAgent: daemon }, options, context);
    return EXIT.ok;
  },
});

const LOOK_EVERY_MS = 150;

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

/**
 * Secrets were redacted when the lines were written. A line is also cleaned for the terminal, since others can write
 * into the file. With --json it is printed exactly as in the file.
 */
function printer({ output, redact }: CliContext): (text: string) => void {
  return (text) => {
    const line = readLogLine(text);
    const level = Number(line.record?.level);
    const style = level >= LEVELS.error ? "red" : level >= LEVELS.warn ? "yellow" : undefined;
    if (!output.json) output.page(redact(clean(describeLogLine(line))), { styleOf: () => style });
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

export const EVENTS = defineVerb({
  description: "print an agent's event log, one event per line",
  examples: ["goald events chef", "goald events chef --after 120 --json"],
  arguments: [AGENT],
  options: { after: value("--after <seq>", "print only events after this number", positiveInteger) },
  exitCodes: NO_AGENT,
  run: ([name = ""], { after = 0, ...options }) =>
    reading(options, async (reading, { output, redact }) => {
      const toLine = createEventLines();
      for await (const event of allEvents(logReader(reading), name)) {
        const line = toLine(event);
        if (event.seq <= after) continue;
        if (output.json) output.data(redact(JSON.stringify(line)));
        // Redact before cutting: half a key is not recognized.
        else output.page(clean(`${event.seq}  ${event.at}  ${event.type}  ${oneLine(redact(detailOf(line)), 160)}`));
      }
      return EXIT.ok;
    }),
});

const detailOf = ({ v: _v, seq: _seq, at: _at, type: _type, frame: _frame, ...rest }: EventLine): string =>
  escapeUnseenInJson(JSON.stringify(rest));

/** Maximum suffix that is read; `path.3` is older than `path.1`. goald keeps fewer files. */
const MAX_ROTATED = 9;
const PIECE_BYTES = 64 * 1024;

/**
 * Reads the lines of a rotated log file, the oldest first, and follows new ones. A reader holds the open file, not its
 * name: after a rotation it reads the rest of the old file, then the files between, then the new one. A missing file is
 * read as soon as it exists. An incomplete line waits for its end.
 */
function openLogReader(path: string) {
  let open: OpenLog | undefined;
  let started = false;

  function read(onLine: (line: string) => void): void {
    for (const file of open ? newerThan(open, path) : generations(path, started)) {
      open = moveTo(open, file, onLine);
      if (open) drain(open, onLine);
    }
    started = true;
  }

  return {
    read,
    rest: (): string => open?.pending.toString("utf8") ?? "",
    close: (): void => {
      if (open) closeSync(open.descriptor);
      open = undefined;
    },
  };
}

interface OpenLog {
  readonly descriptor: number;
  readonly inode: string;
  offset: number;
  pending: Buffer;
}

type Generation = ReturnType<typeof generations>[number];

/** Returns the existing files, the oldest first. */
function generations(path: string, onlyNewest: boolean) {
  const names = onlyNewest
    ? [path]
    : [...Array.from({ length: MAX_ROTATED }, (_, at) => `${path}.${MAX_ROTATED - at}`), path];
  return names.flatMap((name) => {
    const found = statSync(name, { throwIfNoEntry: false });
    return found?.isFile() ? [{ path: name, inode: `${found.dev}/${found.ino}` }] : [];
  });
}

/** Returns the open file and all newer ones; only the newest when the open one was deleted. */
function newerThan({ inode }: OpenLog, path: string): readonly Generation[] {
  const all = generations(path, false);
  const at = all.findIndex((file) => file.inode === inode);
  return at < 0 ? all.slice(-1) : all.slice(at);
}

function moveTo(open: OpenLog | undefined, file: Generation, onLine: (line: string) => void): OpenLog | undefined {
  if (open?.inode === file.inode) return open;
  if (open) {
    drain(open, onLine);
    if (open.pending.length > 0) onLine(open.pending.toString("utf8"));
    closeSync(open.descriptor);
  }
  const { O_NOFOLLOW, O_NONBLOCK, O_RDONLY } = constants;
  try {
    const descriptor = openSync(file.path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
    const { dev, ino } = fstatSync(descriptor);
    return { descriptor, inode: `${dev}/${ino}`, offset: 0, pending: Buffer.alloc(0) };
  } catch {
    // The file was rotated between two reads. The next read finds it under its new name.
    return undefined;
  }
}

function drain(open: OpenLog, onLine: (line: string) => void): void {
  // The file was truncated, so read it from its start.
  if (fstatSync(open.descriptor).size < open.offset) {
    open.offset = 0;
    open.pending = Buffer.alloc(0);
  }
  const piece = Buffer.alloc(PIECE_BYTES);
  for (;;) {
    const bytes = readSync(open.descriptor, piece, 0, PIECE_BYTES, open.offset);
    if (bytes === 0) return;
    open.offset += bytes;
    const text = Buffer.concat([open.pending, piece.subarray(0, bytes)]);
    let start = 0;
    for (let end = text.indexOf(0x0a); end >= 0; end = text.indexOf(0x0a, start)) {
      if (end > start) onLine(text.toString("utf8", start, end));
      start = end + 1;
    }
    open.pending = text.subarray(start);
  }
}

const LEVELS = { trace: 10, debug: 20, info: 30, warn: 40, error: 50, fatal: 60 } as const;

type LogLine = ReturnType<typeof readLogLine>;

export interface LogFilter {
  /** Id; undefined for all. */
  readonly agent?: string | undefined;
  readonly withoutAgent?: boolean | undefined;
  readonly step?: number | undefined;
  readonly level?: keyof typeof LEVELS | undefined;
  /** Milliseconds since 1970. */
  readonly since?: number | undefined;
}

/** `record`: null for a line that is not a JSON object. */
export function readLogLine(text: string) {
  const value = parseJson(text);
  return { text, record: isRecord(value) ? value : null };
}

/** A line that is not JSON passes only an empty filter. */
export function matchesFilter({ record }: LogLine, filter: LogFilter): boolean {
  const { agent, withoutAgent = false, step, level, since } = filter;
  if (record === null) return agent === undefined && step === undefined && level === undefined && since === undefined;
  if (agent !== undefined && record.agent !== agent) return false;
  if (withoutAgent && typeof record.agent === "string") return false;
  if (step !== undefined && record.step !== step) return false;
  if (level !== undefined && !(Number(record.level) >= LEVELS[level])) return false;
  return since === undefined || Date.parse(String(record.time)) >= since;
}

/**
 * `2026-11-20T10:00:00.000Z info  chef  step 3  step  command=write_to_file status=ok …`; further lines are indented. A
 * line that is not JSON (torn by a full disk, or printed by another program) is shown unchanged. Pure.
 */
export function describeLogLine({ text, record }: LogLine): string {
  if (record === null) return text;
  const { time, level, agent, step, msg, pid: _pid, ...fields } = record;
  const rest = Object.entries(fields).filter(([, value]) => value !== null && value !== undefined);
  const parts = [
    String(time ?? ""),
    nameOf(level).padEnd(5),
    ...(typeof agent === "string" ? [agent] : []),
    ...(typeof step === "number" ? [`step ${step}`] : []),
    ...(msg === undefined || (msg === "step" && typeof step === "number") ? [] : [String(msg)]),
    rest.map(([name, value]) => `${name}=${shorten(value)}`).join(" "),
  ];
  return parts
    .filter((part) => part !== "")
    .join("  ")
    .replaceAll("\n", "\n  ");
}

const nameOf = (level: unknown): string =>
  Object.entries(LEVELS).find(([, number]) => number === level)?.[0] ?? String(level ?? "");

function shorten(value: unknown): string {
  if (typeof value === "string") return /^[\w.:/@+-]+$/.test(value) ? value : JSON.stringify(value);
  const isError = typeof value === "object" && value !== null && "message" in value;
  return JSON.stringify(isError ? value.message : value);
}
