/** guest-pids.ts -- the cell processes that this process has started, by the files of /proc. */
import { readdirSync, readFileSync } from "node:fs";

/** Without the processes that only wrap them. */
export function guestPids(): readonly number[] {
  const all = readdirSync("/proc").filter((name) => /^\d+$/.test(name));
  const parents = new Map(all.map((pid) => [Number(pid), parentOf(pid)]));
  const isOurs = (pid: number): boolean => {
    const parent = parents.get(pid) ?? 0;
    return parent === process.pid || (parent > 1 && isOurs(parent));
  };
  return all.filter((pid) => isGuest(pid) && isOurs(Number(pid))).map(Number);
}

const read = (path: string): string => {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return "";
  }
};
const parentOf = (pid: string): number => Number(/^PPid:\s*(\d+)/m.exec(read(`/proc/${pid}/status`))?.[1] ?? 0);
/** Its first argument is node itself. */
function isGuest(pid: string): boolean {
  const [program = "", ...args] = read(`/proc/${pid}/cmdline`).split("\0");
  return program === process.execPath && args.some((arg) => /sandbox\/guest\.[jt]s$/.test(arg));
}
