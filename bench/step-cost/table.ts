/** table.ts -- prints the runs of the bench as a table, and which targets they meet. */
import { median } from "../shared/median.ts";
import { describeMachine, rowOf, verdictOf } from "../shared/print.ts";
import type { Report, Sample } from "./meter.ts";
import { SCENARIOS, type Scenario } from "./scenarios.ts";

export const SIDES = ["goald", "floor", "bare"] as const;
/** `unrecalled` is goald with `recall.count` 0. */
export const RECALL_SIDES = ["goald", "unrecalled", "floor"] as const;
export type Side = (typeof SIDES | typeof RECALL_SIDES)[number];

export interface Run extends Report {
  readonly side: Side;
  readonly scenario: Scenario;
  readonly steps: number;
  /** Milliseconds from the start of the process to its first request at the server. */
  readonly startMs: number;
  /** Size of the last request. */
  readonly requestBytes: number;
}

/** Steps between two samples; the first window includes loading and compiling. */
const WINDOWS = [
  { title: "steps 1–100", from: 0, to: 100 },
  { title: "steps 101–500", from: 100, to: 500 },
  { title: "steps 501–2000", from: 500, to: 2000 },
  { title: "steps 101–2000", from: 100, to: 2000 },
  { title: "steps 1901–2000", from: 1900, to: 2000 },
] as const;

const MAX_CPU_RATIO = 1.5;
const MAX_PLAIN_CPU_RATIO = 2.5;
/** CPU of goald's steps over those of the bare loop, by scenario, and CPU of recall over that of the rest of the step. */
const MAX_SCENARIO_RATIO: Readonly<Partial<Record<Scenario, number>>> = { notes: 3.5, csv: 5.5 };
const MAX_RECALL_RATIO = 1;
const MAX_RSS_RATIO = 1.3;
/** The limit for "does not grow", chosen by us. */
const MAX_GROWTH = 1.1;

type Pick = (run: Run) => number;
interface Row {
  readonly title: string;
  readonly goald: number;
  readonly floor: number;
  readonly bare: number;
  /** Medians of the rounds' ratios, to the bare loop and to the plain loop. */
  readonly ratio: number;
  readonly plainRatio: number;
  readonly digits: number;
}

export function showRuns(runs: readonly Run[], rounds: number): void {
  console.log(`Cost of a step, medians of ${rounds} rounds, all sides run at the same time.`);
  console.log(describeMachine());
  console.log("goald keeps V8's young generation small, as its command line does; the loops have Node's defaults.\n");
  const row = (title: string, steps: number, pick: Pick, digits: number): Row => {
    const of = (side: Side) => runs.filter((run) => run.side === side && run.steps === steps).map(pick);
    const [goald, floor, bare] = [of("goald"), of("floor"), of("bare")];
    const over = (other: readonly number[]) => median(goald.map((own, round) => own / (other[round] ?? Number.NaN)));
    const medians = { goald: median(goald), floor: median(floor), bare: median(bare) };
    return { title, ...medians, ratio: over(floor), plainRatio: over(bare), digits };
  };
  const cpu = WINDOWS.map(({ title, from, to }) => row(`CPU ms per step, ${title}`, 2000, cpuOf(from, to), 2));
  const rss = [500, 2000].map((steps) => row(`peak RSS MB at ${steps}`, steps, (run) => run.peakRssMb, 0));
  const store = [500, 2000].map((n) => row(`store bytes per step at ${n}`, n, (run) => run.storeBytes / run.steps, 0));
  showTable([
    ...cpu,
    ...[100, 500, 2000].map((steps) => row(`CPU s of the whole run of ${steps}`, steps, wholeCpu, 2)),
    ...rss,
    row("end RSS MB at 2000", 2000, (run) => run.endRssMb, 0),
    ...store,
    row("start to first request ms", 100, (run) => run.startMs, 0),
    row("last request bytes at 2000", 2000, (run) => run.requestBytes, 0),
  ]);
  const [, early, , whole, last] = cpu;
  const [storeEarly, storeLate] = store;
  if (!early || !whole || !last || !storeEarly || !storeLate) return;
  showTargets([
    ["goald's CPU per step over the plain loop's, steps 101–500", early.plainRatio, MAX_PLAIN_CPU_RATIO],
    ["goald's CPU per step over the bare loop's, steps 101–2000", whole.ratio, MAX_CPU_RATIO],
    ["growth of goald's CPU per step, steps 1901–2000 over 101–500", last.goald / early.goald, MAX_GROWTH],
    ...rss.map(({ title, ratio }) => [`${title}, goald's over the bare loop's`, ratio, MAX_RSS_RATIO] as const),
    ["growth of goald's store bytes per step, at 2000 over at 500", storeLate.goald / storeEarly.goald, MAX_GROWTH],
  ]);
}

/** Shows the runs of `RECALL_SIDES`. */
export function showScenarios(runs: readonly Run[]): void {
  console.log(
    "\nCPU ms per step, steps 101–500, by what the agent appends. Recall is goald less goald without recall.\n",
  );
  console.log(line("", "goald", "no recall", "bare loop", "ratio", "recall"));
  const targets: [title: string, measured: number, atMost: number][] = [];
  for (const scenario of SCENARIOS) {
    const of = (side: Side) =>
      runs.filter((run) => run.scenario === scenario && run.side === side).map(cpuOf(100, 500));
    const [goald, unrecalled, floor] = [of("goald"), of("unrecalled"), of("floor")];
    const ratio = median(goald.map((own, round) => own / (floor[round] ?? Number.NaN)));
    const recall = median(goald.map((own, round) => own / (unrecalled[round] ?? Number.NaN) - 1));
    const cpus = [goald, unrecalled, floor].map((all) => median(all).toFixed(2));
    console.log(line(scenario, ...cpus, ratio.toFixed(2), `${(100 * (recall / (1 + recall))).toFixed(0)} %`));
    const most = MAX_SCENARIO_RATIO[scenario];
    if (most !== undefined) targets.push([`${scenario}: goald's CPU per step over the bare loop's`, ratio, most]);
    targets.push([`${scenario}: CPU of recall over that of the rest of the step`, recall, MAX_RECALL_RATIO]);
  }
  showTargets(targets);
}

function showTable(rows: readonly Row[]): void {
  console.log(line("", "goald", "bare loop", "ratio", "plain loop", "ratio"));
  for (const { title, goald, floor, bare, ratio, plainRatio, digits } of rows) {
    const [own, other, plain] = [goald, floor, bare].map((value) => value.toFixed(digits));
    console.log(line(title, own ?? "", other ?? "", ratio.toFixed(2), plain ?? "", plainRatio.toFixed(2)));
  }
}

function showTargets(targets: readonly (readonly [title: string, measured: number, atMost: number])[]): void {
  console.log(`\n${line("target", "measured", "at most", "")}`);
  for (const [title, measured, atMost] of targets)
    console.log(line(title, measured.toFixed(2), atMost.toFixed(2), verdictOf(measured <= atMost)));
}

const line = rowOf(62, 11);

const cpuOf =
  (from: number, to: number): Pick =>
  ({ samples }) =>
    (cpuAt(samples, to) - cpuAt(samples, from)) / (to - from);

const wholeCpu: Pick = ({ samples }) => (samples.at(-1)?.cpuMs ?? Number.NaN) / 1000;

const cpuAt = (samples: readonly Sample[], step: number): number =>
  step === 0 ? 0 : (samples.find((sample) => sample.step === step)?.cpuMs ?? Number.NaN);
