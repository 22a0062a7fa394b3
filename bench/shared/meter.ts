/** meter.ts -- measures CPU and main memory of processes, because elapsed time varies on a busy machine. */
import { readFileSync } from "node:fs";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

/** Collects garbage, so that one measurement does not pay for another. Compiled code may be discarded too. */
export function collectGarbage(): void {
  setFlagsFromString("--expose-gc");
  (runInNewContext("gc") as () => void)();
}

/** Milliseconds of CPU of this process since its start, with all its threads. */
export function cpuMs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1_000;
}

/** Returns CPU time in milliseconds. */
export async function cpuOf(work: () => unknown): Promise<number> {
  const before = cpuMs();
  await work();
  return cpuMs() - before;
}

/** User and system time of another process, in steps of a hundredth of a second. */
export function cpuMsOf(pid: number | undefined): number {
  const fields = readFileSync(`/proc/${pid}/stat`, "utf8").split(") ")[1]?.split(" ") ?? [];
  return 10 * (Number(fields[11]) + Number(fields[12]));
}

export const rssBytesOf = (pid: number): number =>
  1_024 * Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1]);

/** A process and all below it. In a strict cage the reader is below bubblewrap. */
export function processesBelow(pid: number): readonly number[] {
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8").trim().split(" ").filter(Boolean);
  return [pid, ...children.map(Number).flatMap(processesBelow)];
}
