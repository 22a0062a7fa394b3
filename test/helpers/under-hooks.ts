/** under-hooks.ts -- runs a call while a daemon with modules that Node loads first is up, in the place of a running one. */
import { join } from "node:path";
import { isHostHeld } from "#store/sqlite/host-lock.ts";
import { type Ended, endedWith, type Goald, type StartOptions } from "./goald.ts";

/** Runs the call until a hook kills the daemon, then kills the call, so that nobody starts the next daemon. */
export async function killUnder(
  hooks: Pick<StartOptions, "imports" | "env">,
  goald: Pick<Goald, "start" | "ask" | "home">,
  args: readonly string[],
): Promise<Ended> {
  await endRunning(goald);
  const daemon = goald.start(["up", "--foreground"], hooks);
  const isReady = await daemon.see("is ready").then(
    () => true,
    () => false,
  );
  if (!isReady) return daemon.ended;
  const call = goald.start(args);
  // A daemon that is not killed ends with exit code 0.
  await Promise.race([daemon.ended, call.ended]);
  daemon.kill("SIGTERM");
  call.kill("SIGKILL");
  await call.ended;
  return daemon.ended;
}

/** Runs the call to its end, which must be exit code 0, and ends the daemon. Returns the daemon's end. */
export async function runUnder(
  hooks: Pick<StartOptions, "imports" | "env">,
  goald: Pick<Goald, "start" | "run" | "ask" | "home">,
  args: readonly string[],
): Promise<Ended> {
  await endRunning(goald);
  const daemon = goald.start(["up", "--foreground"], hooks);
  await daemon.see("is ready");
  endedWith(0, await goald.run(args));
  daemon.kill("SIGTERM");
  return daemon.ended;
}

async function endRunning({ ask, home }: Pick<Goald, "ask" | "home">): Promise<void> {
  if (isHostHeld(join(home, ".goald", "lock.db"))) endedWith(0, await ask(["down"]));
}
