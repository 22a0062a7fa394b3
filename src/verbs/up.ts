/** up.ts -- `goald up` and `goald restart`: the daemon is there, this version of it, with the settings as they are. */
import { ensureDaemon, type Reached } from "#client/auto-start.ts";
import { loadSettings } from "#config/load.ts";
import { EXIT, GoaldError } from "#core/errors.ts";
import { readVersion } from "../shipped.ts";
import { type StopOptions, stopDaemon } from "./down.ts";
import { again, findOwnHouse, type GlobalOptions, type House } from "./house.ts";

export async function up(options: GlobalOptions & { readonly foreground?: boolean }): Promise<number> {
  if (options.foreground) return (await import("./daemon.ts")).daemonVerb({ ...options, revives: false });
  const { home, talk } = await findOwnHouse(options);
  try {
    const reached = await ensureDaemon(home, { version: readVersion() });
    requireDaemon(reached);
    sayUp(reached, reached.started ? "is up" : "is already running", { home, talk });
    return EXIT.ok;
  } finally {
    talk.close();
  }
}

/** What would keep the new one from starting is found before the old one goes. */
export async function restart(options: StopOptions): Promise<number> {
  const { home, talk } = await findOwnHouse(options);
  try {
    await loadSettings({ home, env: process.env });
    const stopped = await stopDaemon({ home, talk }, options);
    if (stopped && !stopped.isGone) return EXIT.error;
    const reached = await ensureDaemon(home, { version: readVersion() });
    requireDaemon(reached);
    const agents = stopped && stopped.unfinished.length > 0 ? "; its agents go on" : "";
    sayUp(reached, `is up${stopped ? " again" : ""}${agents}`, { home, talk });
    return EXIT.ok;
  } finally {
    talk.close();
  }
}

/** A run on a terminal is no daemon: it ends with its agent. */
function requireDaemon({ status }: Reached): void {
  if (status.role === "daemon") return;
  throw new GoaldError(
    "GOALD_ALREADY_RUNNING",
    `The agents of this home are run on a terminal (pid ${status.pid}) until that run ends.`,
    { hint: "Then start the daemon: goald up" },
  );
}

function sayUp({ client, started, status }: Reached, how: string, { home, talk }: Pick<House, "home" | "talk">): void {
  const { pid, version, startedAt } = status;
  if (talk.json) {
    const { socket } = client;
    talk.data(JSON.stringify({ running: true, started, pid, version, startedAt, home: home.root, socket }));
    return;
  }
  talk.say(`The daemon ${how} (pid ${pid}, goald ${version}).`);
  talk.say(`  home    ${home.root}\n  socket  ${client.socket}\n  log     ${home.logFolder}`);
  talk.say(`  see it with: ${again(home, "status")}\n  end it with: ${again(home, "down")}`);
}
