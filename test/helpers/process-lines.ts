/** process-lines.ts -- reads the standard output of a child process line by line. */
import type { ChildProcess } from "node:child_process";
import { once } from "node:events";

export interface ProcessLines {
  readonly child: ChildProcess;
  /** Complete lines so far. */
  readonly lines: readonly string[];
  /** Exit code and signal, after the last line. */
  readonly ended: Promise<readonly unknown[]>;
  /** Resolves after `count` lines; throws when the process ends before. */
  reach(count: number): Promise<void>;
}

export function readProcessLines(child: ChildProcess): ProcessLines {
  const { stdout } = child;
  if (stdout === null) throw new Error("The process has no standard output to be read.");
  const lines: string[] = [];
  let rest = "";
  stdout.setEncoding("utf8").on("data", (chunk: string) => {
    const parts = (rest + chunk).split("\n");
    rest = parts.pop() ?? "";
    lines.push(...parts);
  });
  const ended = once(child, "close");
  let isOver = false;
  void ended.then(() => {
    isOver = true;
  });
  return {
    child,
    lines,
    ended,
    reach: async (count) => {
      while (lines.length < count && !isOver) await Promise.race([once(stdout, "data"), ended]);
      if (lines.length < count)
        throw new Error(`It ended after ${lines.length} of ${count} lines:\n${lines.join("\n")}`);
    },
  };
}
