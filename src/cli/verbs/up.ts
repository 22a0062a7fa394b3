/** up.ts -- `goald up` and `goald restart`: the daemon is there, this version of it, with the settings as they are. */
import { ensureDaemon, type Reached } from "#api/auto-start.ts";
import { loadSettings } from "#config/load.ts";
import { EXIT, GoaldError } from "#core/errors.ts";
import { readVersion } from "../../shipped.ts";
import { type CliContext, findOwnContext, formatCall, type GlobalOptions } from "../shared/context.ts";
import { type StopOptions, stopDaemon } from "./down.ts";

export async function up(options: GlobalOptions & { readonly foreground?: boolean }): Promise<number> {
  if (options.foreground) return (await import("./daemon.ts")).daemonVerb({ ...options, revives: false });
  const { home, output } = await findOwnContext(options);
  try {
    const reached = await ensureDaemon(home, { version: readVersion() });
    requireDaemon(reached);
    sayUp(reached, reached.started ? "is up" : "is already running", { home, output });
    return EXIT.ok;
  } finally {
    output.close();
  }
}

/** What would keep the new one from starting is found before the old one goes. */
export async function restart(options: StopOptions): Promise<number> {
  const { home, output } = await findOwnContext(options);
  try {
    await loadSettings({ home, env: process.env });
    const stopped = await stopDaemon({ home, output }, options);
    if (stopped && !stopped.isGone) return EXIT.error;
    const reached = await ensureDaemon(home, { version: readVersion() });
    requireDaemon(reached);
    const agents = stopped && stopped.unfinished.length > 0 ? "; its agents go on" : "";
    sayUp(reached, `is up${stopped ? " again" : ""}${agents}`, { home, output });
    return EXIT.ok;
  } finally {
    output.close();
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

function sayUp(
  { client, started, status }: Reached,
  how: string,
  { home, output }: Pick<CliContext, "home" | "output">,
): void {
  const { pid, version, startedAt } = status;
  if (output.json) {
    const { socket } = client;
    output.data(JSON.stringify({ running: true, started, pid, version, startedAt, home: home.root, socket }));
    return;
  }
  output.say(`The daemon ${how} (pid ${pid}, goald ${version}).`);
  output.say(`  home    ${home.root}\n  socket  ${client.socket}\n  log     ${home.logFolder}`);
  output.say(`  see it with: ${formatCall(home, "status")}\n  end it with: ${formatCall(home, "down")}`);
}
