/**
 * daemon.ts -- the daemon of a test's home: finds it, calls it, and kills it when the test is over.
 *
 * The daemon runs in a session of its own, so its processes are found in /proc.
 */
import { readdir, readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { type Client, connectHost } from "#api/client.ts";
import { isHostHeld, readHostInfo } from "#store/sqlite/host-lock.ts";
import type { Goald, Running } from "./goald.ts";
import { killIfAlive, waitUntil } from "./wait-until.ts";

export interface TestDaemon extends AsyncDisposable {
  readonly client: Client;
  /** Returns the process id of the holder of the home's lock. Throws when there is none. */
  pid(): number;
  isHeld(): boolean;
  /** Returns the processes that were started as the daemon of this home, also those that are ending. */
  processes(): Promise<readonly number[]>;
  /** Sends SIGKILL; resolves when the lock is free. */
  kill(): Promise<void>;
  /** Polls until `isSo` holds. Throws after the time that a test may take. */
  until(what: string, isSo: () => boolean | Promise<boolean>): Promise<void>;
}

export function daemonOf({ home }: Pick<Goald, "home">): TestDaemon {
  const privateFolder = join(home, ".goald");
  const lock = join(privateFolder, "lock.db");

  function pid(): number {
    const info = isHostHeld(lock) ? readHostInfo(lock) : undefined;
    if (!info) throw new Error(`Nobody runs the agents of ${home}.`);
    return info.pid;
  }

  async function kill(): Promise<void> {
    const holder = pid();
    process.kill(holder, "SIGKILL");
    await waitUntil("the killed host's lock is free", () => !isHostHeld(lock) || readHostInfo(lock)?.pid !== holder);
  }

  const processes = (): Promise<readonly number[]> => processesOf(home);

  return {
    client: connectHost(join(privateFolder, "daemon.sock")),
    pid,
    isHeld: () => isHostHeld(lock),
    processes,
    kill,
    until: waitUntil,
    [Symbol.asyncDispose]: async () => {
      // Without this file no other process starts a new daemon. A test may have put a file in the place of the home.
      await rm(join(privateFolder, "wanted"), { force: true }).catch(() => undefined);
      await waitUntil("no daemon is left", async () => {
        const left = await processes();
        left.forEach(killIfAlive);
        return left.length === 0;
      });
    },
  };
}

/** Sends SIGKILL to a run in front and to its daemon. */
export async function killRun(goald: Pick<Goald, "home">, running: Running): Promise<void> {
  running.kill("SIGKILL");
  await running.ended;
  await daemonOf(goald).kill();
}

/** Finds daemons in the background and those under a service manager. */
async function processesOf(home: string): Promise<readonly number[]> {
  const numbers = (await readdir("/proc")).filter((name) => /^\d+$/.test(name));
  const found = await Promise.all(
    numbers.map(async (name) => {
      const words = (await readFile(`/proc/${name}/cmdline`, "utf8").catch(() => "")).split("\0");
      const isDaemon = words.includes("daemon") || words.includes("--foreground");
      return isDaemon && words.includes(home) ? [Number(name)] : [];
    }),
  );
  return found.flat();
}
