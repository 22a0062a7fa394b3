/** hold-lock.ts -- the lock of a home, for a verb that changes the store while no daemon runs. */
import { holdHostLock } from "#store/host-lock.ts";
import { systemClock } from "#util/clock.ts";
import { readVersion } from "../../shipped.ts";
import type { CliContext } from "./context.ts";

/** Throws GOALD_ALREADY_RUNNING when another process holds the lock. */
export const holdLock = ({ home }: Pick<CliContext, "home">): Disposable =>
  holdHostLock(home.lock, {
    pid: process.pid,
    version: readVersion(),
    startedAt: systemClock.now().toISOString(),
  });
