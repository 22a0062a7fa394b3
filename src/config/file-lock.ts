/**
 * file-lock.ts -- one writer at a time for a file that is read, changed and replaced as a whole.
 *
 * The lock is a file beside it, made exclusively. The work takes milliseconds, so one that is seconds old was left by
 * a process that was killed, and is taken away.
 */
import { open, rm, stat } from "node:fs/promises";
import { GoaldError, toError } from "#core/errors.ts";
import { systemClock } from "#util/clock.ts";

const STALE_MS = 3_000;
const WAIT_MS = 10_000;
const RETRY_MS = 10;

/** Throws GOALD_CONFLICT when others hold it all the time, and what the system says when it cannot be made. */
export async function withFileLock<T>(path: string, act: () => Promise<T>): Promise<T> {
  const lock = `${path}.lock`;
  await take(lock);
  try {
    return await act();
  } finally {
    await rm(lock, { force: true });
  }
}

async function take(lock: string): Promise<void> {
  const since = performance.now();
  while (!(await make(lock))) {
    const { mtimeMs = Number.POSITIVE_INFINITY } = (await stat(lock).catch(() => undefined)) ?? {};
    if (systemClock.now().getTime() - mtimeMs > STALE_MS) await rm(lock, { force: true });
    if (performance.now() - since > WAIT_MS)
      throw new GoaldError("GOALD_CONFLICT", `Others are changing this file all the time: ${lock} is always there.`, {
        hint: "Try again in a moment.",
      });
    await systemClock.sleep(RETRY_MS);
  }
}

async function make(lock: string): Promise<boolean> {
  try {
    await (await open(lock, "wx", 0o600)).close();
    return true;
  } catch (thrown) {
    const error = toError(thrown);
    if ("code" in error && error.code === "EEXIST") return false;
    throw error;
  }
}
