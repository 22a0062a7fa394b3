/** told-lines.ts -- a process of a test that tells, line by line on standard output, what it has done. */
import type { ChildProcess } from "node:child_process";
import { once } from "node:events";

export interface Telling {
  readonly child: ChildProcess;
  /** Whole lines, as they have come so far. */
  readonly lines: readonly string[];
  /** Exit code and signal, when all that it told has come. */
  readonly ended: Promise<readonly unknown[]>;
  /** Resolves when so many lines have come; throws when the process ends before. */
  told(count: number): Promise<void>;
}

export function listenTo(child: ChildProcess): Telling {
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
    told: async (count) => {
      while (lines.length < count && !isOver) await Promise.race([once(stdout, "data"), ended]);
      if (lines.length < count)
        throw new Error(`It ended after ${lines.length} of ${count} lines:\n${lines.join("\n")}`);
    },
  };
}
