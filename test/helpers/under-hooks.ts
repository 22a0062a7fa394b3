/** under-hooks.ts -- runs a call while a daemon with modules that Node loads first is up, in the place of a running one. */
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { isHostHeld } from "#store/sqlite/host-lock.ts";
import { type Ended, endedWith, type Goald, type StartOptions } from "./goald.ts";

type Hooks = Pick<StartOptions, "imports" | "env">;

const under = (name: string, env: StartOptions["env"] = {}): Hooks => ({
  imports: [fileURLToPath(new URL(`./${name}.child.ts`, import.meta.url))],
  env,
});
/** Kills the process at a commit, such as 12:before. */
export const killAtCommit = (point: string): Hooks => under("kill-at-commit", { KILL_AT_COMMIT: point });
/** Kills the process at the commit of an event of the store's nth agent, such as 1:7:after. */
export const killAtEvent = (point: string): Hooks => under("kill-at-event", { KILL_AT_EVENT: point });
/** Kills the process at a rename, such as 3:before. */
export const killAtRename = (point: string): Hooks => under("kill-at-rename", { KILL_AT_RENAME: point });
/** Writes the last event of each commit into a file, such as 1:8. */
export const logCommits = (file: string): Hooks => under("kill-at-event", { COMMIT_LOG: file });
/** Refuses every socket of the process, with a line on standard error. */
export const NO_NETWORK = under("no-network");

/** Runs the call until a hook kills the daemon, then kills the call, so that nobody starts the next daemon. */
export async function killUnder(
  hooks: Hooks,
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
  hooks: Hooks,
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
