/** limits.ts -- the limits that the system enforces on a caged process, as arguments of prlimit. */
import { MEBIBYTE } from "#util/mebibyte.ts";
import { readMachine } from "./machine.ts";

export interface CageLimits {
  /** Private memory of each process, reserved memory included: see `NODE_RESERVE_MEGABYTES`. */
  readonly memoryMegabytes: number;
  /** Processor time of each process over its whole life. */
  readonly cpuSeconds: number;
  /** Size of each file that it writes. */
  readonly fileMegabytes: number;
  readonly openFiles: number;
}

/** V8 recurses deeply in nested pages; the usual limit is 8 MB. */
const STACK_BYTES = 8 * MEBIBYTE;

/** V8 reserves the range of its code as private memory without using it: 512 MB on x64, 128 MB on arm64. */
export const NODE_RESERVE_MEGABYTES = process.arch === "arm64" ? 128 : 512;

/** Never raises a limit of this process, which only root may. */
export function prlimitArgs({ memoryMegabytes, cpuSeconds, fileMegabytes, openFiles }: CageLimits): readonly string[] {
  const { hardLimits } = readMachine();
  const wanted = {
    data: memoryMegabytes * MEBIBYTE,
    cpu: cpuSeconds,
    fsize: fileMegabytes * MEBIBYTE,
    nofile: openFiles,
    stack: STACK_BYTES,
    core: 0,
  };
  return Object.entries(wanted).map(
    ([name, value]) => `--${name}=${Math.min(value, hardLimits[name as keyof typeof wanted])}`,
  );
}
