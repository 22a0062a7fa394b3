/** processes.ts -- the processes of this machine, by the files of /proc. One that has ended has no arguments. */
import { readdirSync, readFileSync, readlinkSync } from "node:fs";

export const listProcesses = () =>
  readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .map((name) => ({
      pid: Number(name),
      get args(): readonly string[] {
        return ifThere(() => readFileSync(`/proc/${name}/cmdline`, "utf8")).split("\0");
      },
      get parent(): number {
        return Number(/^PPid:\s*(\d+)/m.exec(ifThere(() => readFileSync(`/proc/${name}/status`, "utf8")))?.[1] ?? 0);
      },
      get folder(): string {
        return ifThere(() => readlinkSync(`/proc/${name}/cwd`));
      },
    }));

function ifThere(read: () => string): string {
  try {
    return read();
  } catch {
    return "";
  }
}
