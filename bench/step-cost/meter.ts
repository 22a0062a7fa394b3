/**
 * meter.ts -- what a child of the bench measures of itself, and how it tells its parent.
 *
 * CPU is user and system time of the whole process, helper threads and garbage collection included. It is read
 * at a few steps only, so that measuring costs nothing worth measuring.
 */
import { statSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";

/** What the parent wants of one child. */
export interface Job {
  readonly steps: number;
  /** Ends in /v1. */
  readonly baseUrl: string;
  /** Empty; removed by the parent. */
  readonly folder: string;
  /** Sizes of goald's first and last message, for the floor to send as much. */
  readonly systemChars: number;
  readonly lastMessageChars: number;
  /** What goald says of the form of a reply, for the floor to send the same; absent when it says nothing. */
  readonly replyFormat?: object | undefined;
}

/** Since the start of the process. */
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

/** Steps after which a sample is taken: where the windows of the bench begin and end. */
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
      const { user, system } = process.cpuUsage();
      samples.push({ step, cpuMs: (user + system) / 1000 });
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
