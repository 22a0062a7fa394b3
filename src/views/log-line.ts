/**
 * log-line.ts -- one line of goald's own log: what it says, whether it is wanted, and how a person reads it. Pure.
 *
 * A line that is no JSON (torn by a full disk, or printed by something else) is shown as it is.
 */
import { isRecord, parseJson } from "#util/json.ts";

const LEVELS = { trace: 10, debug: 20, info: 30, warn: 40, error: 50, fatal: 60 } as const;
export type LevelName = keyof typeof LEVELS;

export interface LogLine {
  readonly text: string;
  /** Null for a line that is no JSON object. */
  readonly record: Readonly<Record<string, unknown>> | null;
}

export interface LogFilter {
  /** Id; undefined for all. */
  readonly agent?: string;
  /** Only lines that belong to no agent. */
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

/** A line that is no JSON says nothing of whom or when: it is wanted only when nothing particular is. */
export function isWanted({ record }: LogLine, filter: LogFilter): boolean {
  const { agent, withoutAgent = false, step, level, since } = filter;
  if (record === null) return agent === undefined && step === undefined && level === undefined && since === undefined;
  if (agent !== undefined && record.agent !== agent) return false;
  if (withoutAgent && typeof record.agent === "string") return false;
  if (step !== undefined && record.step !== step) return false;
  if (level !== undefined && !(Number(record.level) >= LEVELS[level])) return false;
  return since === undefined || Date.parse(String(record.time)) >= since;
}

/** `2026-11-20T10:00:00.000Z info  foo  step 3  step  command=write_to_file status=ok …`; further lines of its words are set in. */
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
    rest.map(([name, value]) => `${name}=${brief(value)}`).join(" "),
  ];
  return parts
    .filter((part) => part !== "")
    .join("  ")
    .replaceAll("\n", "\n  ");
}

const nameOf = (level: unknown): string =>
  Object.entries(LEVELS).find(([, number]) => number === level)?.[0] ?? String(level ?? "");

function brief(value: unknown): string {
  if (typeof value === "string") return /^[\w.:/@+-]+$/.test(value) ? value : JSON.stringify(value);
  const isError = typeof value === "object" && value !== null && "message" in value;
  return JSON.stringify(isError ? value.message : value);
}
