import { type ChildProcess, spawn } from "node:child_process";
import { readFile, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "@jest/globals";
import appendToFile from "../../commands/append_to_file.ts";
import { type Desk, makeDesk } from "./context.ts";

const file = "log.txt";
const read = (desk: Desk): Promise<string> => readFile(join(desk.folder, file), "utf8");

describe("append_to_file, killed with kill -9", () => {
  const program = join(import.meta.dirname, "append.child.ts");
  const start = (desk: Desk, ...rest: string[]): ChildProcess =>
    spawn(process.execPath, [program, desk.folder, ...rest], { stdio: ["ignore", "pipe", "inherit"] });

  /** Kills the child when it prints `point` or when `until` resolves; returns its recorded preparation. */
  async function killAt(child: ChildProcess, point: string, until?: () => Promise<void>): Promise<unknown> {
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
  async function recover(desk: Desk, prepared: unknown, text: string): Promise<void> {
    const verdict = await appendToFile.probe?.({ file, text }, desk.context, prepared);
    if (verdict === "not-done") await appendToFile.run({ file, text }, desk.context, prepared);
    else expect(verdict).toBe("done");
  }

  it("in the middle of a long write, appends its text exactly once", async () => {
    await using desk = await makeDesk();
    await writeFile(join(desk.folder, file), "first\n");
    const bytes = 48 * 1024 * 1024;
    const grows = async (): Promise<void> => {
      while ((await stat(join(desk.folder, file))).size <= 6);
    };
    const prepared = await killAt(start(desk, "running", String(bytes)), "at running", grows);
    await recover(desk, prepared, "x".repeat(bytes));
    expect((await read(desk)) === `first\n${"x".repeat(bytes)}`).toBe(true);
  });
});
