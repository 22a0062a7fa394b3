/** folder.ts -- what a test makes on the disk or opens, and what goes after it. */
import { mkdirSync, mkdtempSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeEach } from "@jest/globals";

/** Gives each test an empty folder, and returns the function that joins names to its path. All go after the last test. */
export function useFolder(): (...names: string[]) => string {
  const all = mkdtempSync(join(realpathSync(tmpdir()), "goald-test-"));
  let tests = 0;
  beforeEach(() => mkdirSync(join(all, String(++tests))));
  afterAll(() => rmSync(all, { recursive: true, force: true }));
  return (...names) => join(all, String(tests), ...names);
}

/** Returns a function that keeps what a test opened until its end, and then closes it, the newest first. */
export function useOpened(): <T extends { close(): unknown }>(opened: T) => T {
  const all: { close(): unknown }[] = [];
  afterEach(async () => {
    for (const opened of all.splice(0).reverse()) await opened.close();
  });
  return (opened) => {
    all.push(opened);
    return opened;
  };
}
