/**
 * A process for tests to kill: for each line on stdin it tries to become the host by the lock
 * at argv[2], and writes `won` or why not to stdout.
 */
import { writeSync } from "node:fs";
import { argv } from "node:process";
import { isGoaldError } from "#core/errors.ts";
import { holdHostLock } from "#store/host-lock.ts";

const [, , path = ""] = argv;
const tell = (line: string) => writeSync(1, `${line}\n`);

process.stdin.on("data", () => {
  try {
    holdHostLock(path, { pid: process.pid, version: "test", startedAt: "2026-11-20T10:00:00.000Z" });
    tell("won");
  } catch (error) {
    tell(isGoaldError(error) ? `${error.code} ${error.message}` : `unexpected ${String(error)}`);
  }
});
tell("ready");
