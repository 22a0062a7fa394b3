/**
 * meter.ts -- measures a child process of the bench, and sends the report to its parent.
 *
 * CPU is user and system time of the whole process, with helper threads and garbage collection. It is read
 * at a few steps only, so that measuring costs almost nothing.
 */
import { statSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import { cpuMs } from "../shared/meter.ts";

/** The parent's instructions for one child. */
export interface Job {
  readonly steps: number;
  /** Ends in /v1. */
  readonly baseUrl: string;
  /** Empty; removed by the parent. */
  readonly folder: string;
  /** Sizes of goald's first and last message; the bare loop sends as much. */
  readonly systemChars: number;
  readonly lastMessageChars: number;
  /** Default: that of goald's setting `recall.count`. */
  readonly recallCount?: number;
  /** goald's response_format; the bare loop sends the same, or none. */
  readonly replyFormat?: object | undefined;
}

/** CPU since the start of the process. */
export interface Sample {
  readonly step: number;
  readonly cpuMs: number;
}

export interface Report {
  /** At the steps of `marksOf`. */
  readonly samples: readonly Sample[];
  readonly peakRssMb: number;
  readonly endRssMb: number;
  /** Database and WAL after a checkpoint. */
  readonly storeBytes: number;
}

/** Returns the steps after which a sample is taken: the ends of the bench's windows. */
const marksOf = (steps: number): ReadonlySet<number> => new Set([100, 500, steps - 100, steps]);

export interface Meter {
  stepDone(step: number): void;
  /** Call when everything is closed. */
  report(database: string): void;
}

export function startMeter(steps: number): Meter {
  const marks = marksOf(steps);
  const samples: Sample[] = [];
  return {
    stepDone(step) {
      if (!marks.has(step)) return;
      samples.push({ step, cpuMs: cpuMs() });
    },
    report(database) {
      const endRssMb = process.memoryUsage.rss() / 1e6;
      const peakRssMb = (process.resourceUsage().maxRSS * 1024) / 1e6;
      const report: Report = { samples, peakRssMb, endRssMb, storeBytes: checkpointedBytes(database) };
      process.send?.(report, () => process.disconnect());
    },
  };
}

export const readJob = (): Job => JSON.parse(process.argv[2] ?? "{}") as Job;

function checkpointedBytes(path: string): number {
  const database = new DatabaseSync(path);
  database.exec("PRAGMA wal_checkpoint(TRUNCATE)");
  database.close();
  return ["", "-wal"].reduce((sum, suffix) => sum + (statSync(path + suffix, { throwIfNoEntry: false })?.size ?? 0), 0);
}
