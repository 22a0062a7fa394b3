/**
 * A process that tests kill. For each line on stdin it tries to take the lock at argv[2], and prints `won` or the error.
 */
import { writeSync } from "node:fs";
import { argv } from "node:process";
import { isGoaldError } from "#core/errors.ts";
import { holdHostLock } from "#store/sqlite/host-lock.ts";

const [, , path = ""] = argv;
const print = (line: string) => writeSync(1, `${line}\n`);

process.stdin.on("data", () => {
  try {
    holdHostLock(path, { pid: process.pid, version: "test", startedAt: "2026-11-20T10:00:00.000Z" });
    print("won");
  } catch (error) {
    print(isGoaldError(error) ? `${error.code} ${error.message}` : `unexpected ${String(error)}`);
  }
});
print("ready");
