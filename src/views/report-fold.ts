/**
 * report-fold.ts -- folds an agent's log into the facts that its report needs beside the agent's state. Pure.
 *
 * The fold is plain JSON, so it can be saved with the number of its last event and continued from there. Its size does not
 * grow with the log: it counts everything, and keeps details of the newest only.
 */
import { SAVES_FILES } from "#core/cells.ts";
import type { RecordedEvent } from "#core/event.ts";
import { CHECK_COMMANDS } from "#core/goal-check.ts";
import type { FileVersion } from "#core/ports/file-version.ts";
import { count, described, nullable, oneOf, open, type Static, text, time } from "#util/schema.ts";
import { isByPerson } from "./restore-version.ts";
import { type OpenCall, openCallOf, type Source, sourceIn } from "./sources.ts";
import { type Trouble, troubleIn } from "./troubles.ts";

export const ReportFile = open({
  path: text,
  bytes: count,
  step: described(count, "Step of the last change."),
  at: time,
  by: oneOf("agent", "person"),
  command: described(nullable(text), "The command of the last change; null for a person's edit."),
});
export type ReportFile = Static<typeof ReportFile>;

/** Raise it when `evolveReport` or `addFileVersions` changes: saved folds of another version are built again. */
export const REPORT_VERSION = 3;

/** The most entries of each list: about as many as the rendered report has room for. */
export const REPORT_LIMITS = {
  files: 200,
  deleted: 200,
  sources: 100,
  troubles: 12,
  turns: 10,
  commands: 100,
  calls: 20,
} as const;

export interface ReportFold {
  /** Number of the last event. */
  readonly seq: number;
  /** Time of the last event. */
  readonly at: string;
  readonly step: number;
  readonly turn: number;
  /** Calls that have not ended. */
  readonly calls: readonly OpenCall[];
  readonly lastThought: string;
  readonly turns: readonly { readonly turn: number; readonly at: string; readonly reason: string }[];
  readonly sources: readonly (Source & { readonly times: number })[];
  readonly sourceCount: number;
  readonly troubles: Readonly<Partial<Record<Trouble["kind"], number>>>;
  readonly lastTroubles: readonly Trouble[];
  readonly commands: readonly { readonly name: string; readonly times: number }[];
  /** Existing files, the last changed one last. */
  readonly files: readonly ReportFile[];
  /** Files were left out, because there were more than the limit. */
  readonly moreFiles: boolean;
  /** Paths of deleted files, the last deleted one last. */
  readonly deleted: readonly string[];
  readonly unpricedCalls: number;
  readonly modelMs: number;
  readonly commandMs: number;
}

export const EMPTY_REPORT: ReportFold = {
  seq: 0,
  at: "",
  step: 0,
  turn: 1,
  calls: [],
  lastThought: "",
  turns: [],
  sources: [],
  sourceCount: 0,
  troubles: {},
  lastTroubles: [],
  commands: [],
  files: [],
  moreFiles: false,
  deleted: [],
  unpricedCalls: 0,
  modelMs: 0,
  commandMs: 0,
};

/** Takes every event of the log once, in order. */
export function evolveReport(before: ReportFold, event: RecordedEvent): ReportFold {
  const { seq, at } = event;
  const fold = { ...before, seq, at, step: "step" in event ? event.step : before.step };
  if (event.type === "command-requested") return withRequest(fold, event);
  const call = "callId" in event ? fold.calls.find(({ callId }) => callId === event.callId) : undefined;
  if (call && CHECK_COMMANDS.has(call.name)) return withEnd(fold, event);
  return withEnd(withTrouble(withSource(fold, event, call), event, call), event);
}

function withRequest(fold: ReportFold, event: RecordedEvent & { readonly type: "command-requested" }): ReportFold {
  const { callId, call, thought } = event;
  return {
    ...fold,
    lastThought: thought || fold.lastThought,
    calls: newest(fold.calls, openCallOf(callId, call), "calls", (open) => open.callId === callId),
    commands: isStep(call.name) ? fold.commands : countCommand(fold.commands, call.name),
  };
}

/** A step of another command, which is counted alone. */
const isStep = (name: string): boolean => name === SAVES_FILES || CHECK_COMMANDS.has(name);

/** Drops the rarest command over the limit. */
function countCommand(commands: ReportFold["commands"], name: string): ReportFold["commands"] {
  const place = commands.findIndex((command) => command.name === name);
  const known = commands[place];
  if (known) return commands.with(place, { name, times: known.times + 1 });
  const { length } = commands;
  const least = length < REPORT_LIMITS.commands ? -1 : Math.min(...commands.map(({ times }) => times));
  const rarest = commands.findIndex(({ times }) => times === least);
  return [...(rarest < 0 ? commands : commands.toSpliced(rarest, 1)), { name, times: 1 }];
}

function withSource(fold: ReportFold, event: RecordedEvent, call: OpenCall | undefined): ReportFold {
  const source = sourceIn(event, call, fold.step);
  if (!source) return fold;
  const isSame = ({ command, what }: Source): boolean => command === source.command && what === source.what;
  const times = (fold.sources.find(isSame)?.times ?? 0) + 1;
  const sources = newest(fold.sources, { ...source, times }, "sources", isSame);
  return { ...fold, sources, sourceCount: fold.sourceCount + 1 };
}

function withTrouble(fold: ReportFold, event: RecordedEvent, call: OpenCall | undefined): ReportFold {
  const trouble = troubleIn(event, call);
  if (!trouble) return fold;
  const troubles = { ...fold.troubles, [trouble.kind]: (fold.troubles[trouble.kind] ?? 0) + 1 };
  return { ...fold, troubles, lastTroubles: newest(fold.lastTroubles, trouble, "troubles") };
}

/** Counts times and unpriced replies, and closes calls and turns. */
function withEnd(fold: ReportFold, event: RecordedEvent): ReportFold {
  switch (event.type) {
    case "turn-started":
      return { ...fold, turn: event.turn };
    case "turn-finished":
      return { ...fold, turns: newest(fold.turns, { turn: fold.turn, at: event.at, reason: event.reason }, "turns") };
    case "model-replied": {
      const unpriced = typeof event.costUsd === "number" ? 0 : 1;
      return { ...fold, modelMs: fold.modelMs + event.durationMs, unpricedCalls: fold.unpricedCalls + unpriced };
    }
    case "command-waiting":
      return { ...fold, unpricedCalls: fold.unpricedCalls + unpricedIn(event) };
    case "command-denied":
      return { ...fold, calls: fold.calls.filter(({ callId }) => callId !== event.callId) };
    case "command-finished":
      return {
        ...fold,
        calls: fold.calls.filter(({ callId }) => callId !== event.callId),
        unpricedCalls: fold.unpricedCalls + unpricedIn(event),
        commandMs: fold.commandMs + event.durationMs,
      };
    default:
      return fold;
  }
}

function unpricedIn({ spent }: RecordedEvent & { readonly type: "command-finished" | "command-waiting" }): number {
  return spent?.costUsd === null ? spent.modelCalls : 0;
}

/**
 * Takes every version of every file once, in order. `commands`: names of calls that are not open in the fold, by call id.
 * Versions that came with an event must be added after it, or before it while the call is open.
 */
export function addFileVersions(
  before: ReportFold,
  versions: readonly FileVersion[],
  commands: ReadonlyMap<string, string>,
): ReportFold {
  const files = new Map(before.files.map((file) => [file.path, file]));
  const deleted = new Set(before.deleted);
  let { moreFiles } = before;
  for (const version of versions) {
    const { path, bytes, step, at, callId } = version;
    if (path.startsWith("_goald/") || version.operation === "trust") continue;
    files.delete(path);
    deleted.delete(path);
    if (version.operation === "delete") {
      deleted.add(path);
      if (deleted.size > REPORT_LIMITS.deleted) deleted.delete(deleted.keys().next().value as string);
      continue;
    }
    const byPerson = isByPerson(version);
    const by = byPerson ? "person" : "agent";
    files.set(path, { path, bytes, step, at, by, command: byPerson ? null : (commands.get(callId) ?? null) });
    if (files.size <= REPORT_LIMITS.files) continue;
    files.delete(files.keys().next().value as string);
    moreFiles = true;
  }
  return { ...before, files: [...files.values()], deleted: [...deleted], moreFiles };
}

/** Appends the entry, in place of an earlier one that is the same, and drops the oldest over the limit. */
function newest<T>(
  list: readonly T[],
  entry: T,
  limit: keyof typeof REPORT_LIMITS,
  isSame?: (earlier: T) => boolean,
): readonly T[] {
  const others = isSame ? list.filter((earlier) => !isSame(earlier)) : list;
  return [...others, entry].slice(-REPORT_LIMITS[limit]);
}
