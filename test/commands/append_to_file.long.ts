import { readFile, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, it } from "@jest/globals";
import { killAt, recoverAppend, startAppend } from "./command-runs.ts";
import { makeDesk } from "./context.ts";

it("append_to_file, killed with kill -9 in the middle of a long write, appends its text exactly once", async () => {
  await using desk = await makeDesk();
  const log = join(desk.folder, "log.txt");
  await writeFile(log, "first\n");
  const bytes = 48 * 1024 * 1024;
  const grows = async (): Promise<void> => {
    while ((await stat(log)).size <= 6);
  };
  const prepared = await killAt(startAppend(desk, "running", bytes), "at running", grows);
  await recoverAppend(desk, prepared, "x".repeat(bytes));
  expect((await readFile(log, "utf8")) === `first\n${"x".repeat(bytes)}`).toBe(true);
});
