/**
 * log-line.ts -- parses, filters and formats one line of goald's own log. Pure.
 *
 * A line that is not JSON (torn by a full disk, or printed by another program) is shown unchanged.
 */
import { isRecord, parseJson } from "#util/json.ts";

const LEVELS = { trace: 10, debug: 20, info: 30, warn: 40, error: 50, fatal: 60 } as const;
export type LevelName = keyof typeof LEVELS;

interface LogLine {
  readonly text: string;
  /** Null for a line that is not a JSON object. */
  readonly record: Readonly<Record<string, unknown>> | null;
}

export interface LogFilter {
  /** Id; undefined for all. */
  readonly agent?: string;
  /** Only lines without an agent. */
  readonly withoutAgent?: boolean;
  readonly step?: number;
  readonly level?: LevelName;
  /** Milliseconds since 1970. */
  readonly since?: number;
}

export function readLogLine(text: string): LogLine {
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

/** `2026-11-20T10:00:00.000Z info  foo  step 3  step  command=write_to_file status=ok …`; further lines are indented. */
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
