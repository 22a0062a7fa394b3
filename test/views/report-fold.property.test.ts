/**
 * The property: a fold that was saved and continued at any events equals the fold of the whole log, and what it counts
 * equals what the whole log has.
 */
import { describe, expect, it } from "@jest/globals";
import fc from "fast-check";
import type { NewEvent, RecordedEvent } from "#core/event.ts";
import type { FileVersion } from "#core/ports/file-version.ts";
import { EMPTY_REPORT, REPORT_LIMITS, type ReportFold } from "#views/report-fold.ts";
import { RESTORE_CALL } from "#views/restore-version.ts";
import {
  asked,
  created,
  finished,
  log,
  modelFailed,
  observed,
  rejected,
  replied,
  requested,
} from "../helpers/events.ts";
import { foldReport } from "../helpers/report-fold.ts";
import { cases } from "../helpers/rounds.ts";

const KINDS = ["read", "write", "append", "delete", "restore", "fail", "deny", "interrupt", "reject", "say"] as const;
interface Step {
  readonly kind: (typeof KINDS)[number] | "no reply" | "turn" | "open";
  readonly name: string;
}
const oneStep = fc.record<Step>({
  kind: fc.constantFrom(...KINDS, "no reply", "turn", "open"),
  name: fc.constantFrom("a.md", "b.md", "c/d.md", "_goald/report.md", "e.md"),
});

/** One event, with the file versions that were committed with it. */
interface Entry {
  readonly event: NewEvent;
  readonly versions?: readonly Omit<FileVersion, "at">[];
}

function entriesOf({ kind, name }: Step, step: number): readonly Entry[] {
  const callId = `c${step}`;
  const version = (operation: FileVersion["operation"], ofCall = callId): Omit<FileVersion, "at"> => {
    const sha256 = operation === "delete" ? null : "0".repeat(64);
    return { path: name, operation, bytes: sha256 ? step : 0, sha256, step, callId: ofCall };
  };
  const call = (command: string): Entry[] => [
    { event: asked(step) },
    { event: { ...replied(step), costUsd: step % 3 === 0 ? null : 0.5 } },
    { event: { ...requested(command, step), call: { name: command, args: { file: name } }, thought: `t${step}` } },
  ];
  const ended = (command: string, end: NewEvent, ...versions: readonly Omit<FileVersion, "at">[]): Entry[] => [
    ...call(command),
    { event: end, versions },
  ];
  switch (kind) {
    case "read":
      return ended("read_file", finished(step, observed("x", { source: "workspace" })));
    case "write":
    case "append":
    case "delete":
      return ended(`${kind}_file`, finished(step, observed("x", { artifacts: [name] })), version(kind));
    case "restore":
      return [{ event: said("restored"), versions: [version("found"), version("write", `${RESTORE_CALL}${step}`)] }];
    case "fail":
      return ended("fail", finished(step, observed("no", { status: "failed" })));
    case "deny":
      return ended("send", { type: "command-denied", step, callId, by: "person", reason: `no ${name}` });
    case "interrupt":
      return [
        ...call("slow"),
        { event: { type: "call-interrupted", step, callId, epoch: 2 } },
        { event: finished(step, observed("nobody knows", { status: "unknown" })) },
      ];
    case "reject":
      return [{ event: asked(step) }, { event: replied(step, "prose") }, { event: rejected(step) }];
    case "no reply":
      return [{ event: asked(step) }, { event: modelFailed(step) }];
    case "say":
      return [{ event: said(`hello ${name}`) }];
    case "turn":
      return [
        { event: { type: "turn-finished", outcome: "completed", reason: `done ${step}` } },
        { event: { type: "turn-started", turn: step + 1 } },
      ];
    case "open":
      return call("ask_user");
  }
}
const said = (text: string): NewEvent => ({ type: "message-received", from: "person", text });

interface Log {
  readonly events: readonly RecordedEvent[];
  /** Versions by place of their event. */
  readonly versions: readonly (readonly FileVersion[])[];
}
function logOf(steps: readonly Step[]): Log {
  const entries = [{ event: created() }, ...steps.flatMap((step, at) => entriesOf(step, at + 1))] as readonly Entry[];
  const events = log(...entries.map(({ event }) => event));
  const versions = entries.map((entry, place) =>
    (entry.versions ?? []).map((version) => ({ ...version, at: (events[place] as RecordedEvent).at })),
  );
  return { events, versions };
}

/** Folds piece by piece, with each fold saved as JSON in between. */
function foldInPieces({ events, versions }: Log, ends: readonly number[]): ReportFold {
  let fold = EMPTY_REPORT;
  let from = 0;
  for (const end of [...new Set([...ends, events.length])].sort((a, b) => a - b)) {
    fold = foldReport(events.slice(from, end), versions.slice(from, end).flat(), fold);
    fold = JSON.parse(JSON.stringify(fold)) as ReportFold;
    from = end;
  }
  return fold;
}

/** Counts without folding. */
function countAll({ events, versions }: Log) {
  const last = new Map<string, FileVersion>();
  for (const version of versions.flat()) if (!version.path.startsWith("_goald/")) last.set(version.path, version);
  const names = new Map(
    events.flatMap((event) => (event.type === "command-requested" ? [[event.callId, event.call.name] as const] : [])),
  );
  const files = [...last.values()].filter(({ operation }) => operation !== "delete");
  const times = Map.groupBy(names.values(), (name) => name);
  return {
    seq: events.length,
    commands: Object.fromEntries([...times].map(([name, all]) => [name, all.length]).sort()),
    files: files
      .map(({ path, bytes, step, callId, operation }) => {
        const byPerson = operation === "found" || callId.startsWith(RESTORE_CALL);
        return [path, bytes, step, byPerson ? null : names.get(callId)];
      })
      .sort(),
    deleted: [...last.values()]
      .filter(({ operation }) => operation === "delete")
      .map(({ path }) => path)
      .sort(),
    sourceCount: events.filter(
      (event) =>
        event.type === "message-received" ||
        event.type === "command-denied" ||
        (event.type === "command-finished" && event.observation.source === "workspace"),
    ).length,
    unpriced: events.filter((event) => event.type === "model-replied" && typeof event.costUsd !== "number").length,
    turns: events.filter(({ type }) => type === "turn-finished").length,
    open: [...names].filter(([id, name]) => name === "ask_user" && !id.startsWith("x")).length,
  };
}
const countFold = (fold: ReportFold) => ({
  seq: fold.seq,
  commands: Object.fromEntries(fold.commands.map(({ name, times }) => [name, times] as const).toSorted()),
  files: fold.files.map(({ path, bytes, step, command }) => [path, bytes, step, command]).sort(),
  deleted: fold.deleted.toSorted(),
  sourceCount: fold.sourceCount,
  unpriced: fold.unpricedCalls,
  turns: fold.turns.length,
  open: fold.calls.length,
});

describe("the fold of a log for its report", () => {
  it("is the same when it was saved and continued anywhere, and counts what the whole log has", () => {
    const logs = fc.array(oneStep, { maxLength: 9 }).map(logOf);
    const property = fc.property(logs, fc.array(fc.nat(60), { maxLength: 5 }), (whole, ends) => {
      const fold = foldReport(whole.events, whole.versions.flat());
      expect(
        foldInPieces(
          whole,
          ends.filter((end) => end < whole.events.length),
        ),
      ).toEqual(fold);
      expect(countFold(fold)).toEqual(countAll(whole));
    });
    fc.assert(property, { numRuns: cases(300) });
  });

  it("differs when one event is left out (negative control)", () => {
    const { events, versions } = logOf([
      { kind: "read", name: "a.md" },
      { kind: "write", name: "b.md" },
    ]);
    const whole = foldReport(events, versions.flat());
    for (const event of events.filter(({ type }) => type === "command-requested" || type === "command-finished"))
      expect(
        foldReport(
          events.filter((each) => each !== event),
          versions.flat(),
        ),
      ).not.toEqual(whole);
  });

  it("drops the rarest command over the limit, and keeps the counts of the others", () => {
    const names = [
      ...Array.from({ length: 5 }, () => "often"),
      ...Array.from({ length: 150 }, (_, at) => `once-${at}`),
    ];
    const events = log(created(), ...names.map((name, at) => requested(name, at + 1)), requested("often", 156));
    const { commands } = foldReport(events, []);
    expect(commands).toHaveLength(REPORT_LIMITS.commands);
    expect([commands[0], commands.at(-1)]).toEqual([
      { name: "often", times: 6 },
      { name: "once-149", times: 1 },
    ]);
  });

  it("has a size that does not grow with the log, and keeps the newest", () => {
    const sizes: number[] = [];
    for (const count of [2_000, 4_000]) {
      const steps = Array.from({ length: count }, (_, at): Step => {
        const kind = (["read", "write", "fail", "delete", "deny", "turn", "open", "say"] as const)[at % 8] ?? "read";
        return { kind, name: `${kind === "delete" ? "gone" : "kept"}-${String(at).padStart(6, "0")}.md` };
      });
      const whole = logOf(steps);
      const fold = foldReport(whole.events, whole.versions.flat());
      expect(foldInPieces(whole, [7, 3_000, 3_001, 5_000])).toEqual(fold);
      for (const [list, most] of [
        [fold.files, count / 8 < REPORT_LIMITS.files ? count / 8 : REPORT_LIMITS.files],
        [fold.deleted, count / 8 < REPORT_LIMITS.deleted ? count / 8 : REPORT_LIMITS.deleted],
        [fold.sources, REPORT_LIMITS.sources],
        [fold.lastTroubles, REPORT_LIMITS.troubles],
        [fold.turns, REPORT_LIMITS.turns],
        [fold.calls, REPORT_LIMITS.calls],
      ] as const)
        expect(list).toHaveLength(most);
      expect(fold.moreFiles).toBe(count / 8 > REPORT_LIMITS.files);
      expect(fold.files.at(-1)?.path).toBe(`kept-${String(count - 7).padStart(6, "0")}.md`);
      sizes.push(JSON.stringify({ ...fold, files: [], deleted: [] }).length);
    }
    expect((sizes[1] ?? 0) / (sizes[0] ?? 1)).toBeLessThan(1.02);
  });
});
