/** wait-until.ts -- polls for what has no event, and kills processes that may have ended already. */
import { setTimeout as sleep } from "node:timers/promises";

const PAUSE_MS = 25;
const WAIT_LIMIT_MS = 45_000;

/** Polls until `isSo` holds. Throws after the time that a test may take. */
export async function waitUntil(what: string, isSo: () => boolean | Promise<boolean>): Promise<void> {
  for (const end = performance.now() + WAIT_LIMIT_MS; !(await isSo()); await sleep(PAUSE_MS))
    if (performance.now() > end) throw new Error(`Waited ${WAIT_LIMIT_MS} ms in vain: ${what}.`);
}

/** Sends SIGKILL to a process, or to a process group for a negative number. Ignores one that has ended. */
export function killIfAlive(pid: number): void {
  try {
    process.kill(pid, "SIGKILL");
  } catch {
    // The process has ended already.
  }
}
