/** append-child.ts -- kills a process that appends to a file, and recovers its call as the daemon does. */
import { type ChildProcess, spawn } from "node:child_process";
import { join } from "node:path";
import { expect } from "@jest/globals";
import appendToFile from "../../commands/append_to_file.ts";
import type { Desk } from "../commands/context.ts";

const PROGRAM = join(import.meta.dirname, "../commands/append.child.ts");

/** Starts a process that appends `bytes` bytes to log.txt and stops at `point`. */
export const startAppend = (desk: Desk, point: string, bytes: number): ChildProcess =>
  spawn(process.execPath, [PROGRAM, desk.folder, point, String(bytes)], { stdio: ["ignore", "pipe", "inherit"] });

/** Kills the child when it prints `point` and `until` has resolved; returns its recorded preparation. */
export async function killAt(child: ChildProcess, point: string, until?: () => Promise<void>): Promise<unknown> {
  const over = new Promise((resolve) => child.once("exit", resolve));
  let said = "";
  await new Promise<void>((resolve) => {
    child.stdout?.setEncoding("utf8").on("data", (text: string) => {
      said += text;
      if (said.includes(`${point}\n`)) resolve();
    });
    child.once("exit", () => resolve());
  });
  await until?.();
  child.kill("SIGKILL");
  await over;
  const recorded = /^prepared (.*)$/m.exec(said)?.[1];
  return recorded === undefined ? undefined : JSON.parse(recorded);
}

/** Repeats the recovery of the daemon for an interrupted call. */
export async function recoverAppend(desk: Desk, prepared: unknown, text: string): Promise<void> {
  const args = { file: "log.txt", text };
  const verdict = await appendToFile.probe?.(args, desk.context, prepared);
  if (verdict === "not-done") await appendToFile.run(args, desk.context, prepared);
  else expect(verdict).toBe("done");
}
