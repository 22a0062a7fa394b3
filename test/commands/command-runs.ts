/** command-runs.ts -- an append in a process of its own that is killed, and downloads that are repeated. */
import { type ChildProcess, spawn } from "node:child_process";
import { mkdir, readdir } from "node:fs/promises";
import type { RequestListener } from "node:http";
import { join } from "node:path";
import { expect } from "@jest/globals";
import appendToFile from "../../commands/append_to_file.ts";
import type { Desk } from "./context.ts";

const PROGRAM = join(import.meta.dirname, "append.child.ts");

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

// Downloads one file many times, and looks at what stays in the folder and in the temporary folder.

/** Every second answer breaks off. */
export async function repeatDownloads(
  { home, folder }: { readonly home: string; readonly folder: string },
  count: number,
  download: () => Promise<unknown>,
  answerWith: (listener: RequestListener) => void,
): Promise<{ readonly folder: readonly string[]; readonly temporary: readonly string[] }> {
  const [temporary, kept] = [join(home, "tmp"), process.env.TMPDIR];
  await mkdir(temporary);
  process.env.TMPDIR = temporary;
  let answers = 0;
  answerWith((_request, response) => {
    if (++answers % 2 === 1) response.end(`${answers}`);
    else response.writeHead(200, { "content-length": "10" }).write("half", () => response.destroy());
  });
  try {
    for (let at = 0; at < count; at++) await download();
    if (answers < count) throw new Error(`Expected ${count} answers, found ${answers}.`);
    return { folder: await readdir(folder), temporary: await readdir(temporary) };
  } finally {
    if (kept === undefined) delete process.env.TMPDIR;
    else process.env.TMPDIR = kept;
  }
}
