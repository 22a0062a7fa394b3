/** up.ts -- `goald up`, `reload` and `dashboard`: starts the daemon, makes it read its settings again, or opens its page. */
import { expectDaemon } from "#api/daemon-files.ts";
import { ensureDaemon, findHost, type Reached } from "#api/find-daemon.ts";
import { openInBrowser } from "#api/spawn-daemon.ts";
import { daemonError, EXIT } from "#core/errors.ts";
import { clean } from "#util/outside-text.ts";
import { readVersion } from "../../shipped.ts";
import { type AtHome, findOwnContext, formatCall, type GlobalOptions } from "../context.ts";
import { defineVerb, flag, HOST_CODES } from "../verb.ts";

export const UP = defineVerb({
  description:
    "start the daemon, unless it is running; it stays until `goald down`. Most verbs start it themselves, and then it ends after ten minutes in which no agent runs, waits for a time or is followed",
  examples: ["goald up", "goald up --json", "goald up --foreground --home /srv/goald"],
  options: {
    foreground: flag("--foreground", "run the daemon in this process, for a service manager or a container"),
  },
  exitCodes: HOST_CODES,
  run: async (_args, options) => {
    if (options.foreground) return (await import("./daemon.ts")).daemonVerb({ ...options, revives: false });
    return withHome(options, async ({ home, output }) => {
      const reached = await ensureDaemon(home, { version: readVersion() });
      expectDaemon(home, true);
      sayUp(reached, reached.started ? "is up" : "is already running", { home, output });
    });
  },
});

/** Closes the output in the end, and resolves to the exit code. */
async function withHome(options: GlobalOptions, act: (context: AtHome) => Promise<void>): Promise<number> {
  using context = await findOwnContext(options);
  await act(context);
  return EXIT.ok;
}

export function sayUp({ client, started, status }: Reached, how: string, { home, output }: AtHome): void {
  const { pid, version, startedAt } = status;
  const { socket } = client;
  if (output.printJson({ running: true, started, pid, version, startedAt, home: home.root, socket })) return;
  output.say(`The daemon ${how} (pid ${pid}, goald ${version}).`);
  output.say(`  home    ${home.root}\n  socket  ${socket}\n  log     ${home.logFolder}`);
  output.say(`  see its load: ${formatCall(home, "status")}\n  stop it: ${formatCall(home, "down")}`);
}

export const RELOAD = defineVerb({
  description: "have the daemon reload settings, commands and prompts, as SIGHUP does",
  examples: ["goald reload"],
  exitCodes: { daemonUnreachable: "the daemon is not running or does not answer" },
  run: (_args, options) =>
    withHome(options, async ({ home, output }) => {
      const client = await findHost(home, { version: readVersion() });
      if (!client)
        throw daemonError(
          "The daemon is not running.",
          `It reads all settings when it starts: ${formatCall(home, "up")}`,
        );
      const changes = await client.reload();
      if (output.printJson({ changes })) return;
      if (changes.length === 0) output.say("Reloaded commands and prompts; no setting has changed.");
      else for (const change of changes) output.data(clean(change));
    }),
});

export const DASHBOARD = defineVerb({
  description:
    "print an address of this machine that opens goald's page in a browser; it works once, within a minute, and the page stays signed in for 12 hours or until `goald down`. From another machine: ssh -L",
  examples: ["goald dashboard --open", "goald dashboard", "goald dashboard --json"],
  options: { open: flag("--open", "open the address in the browser") },
  exitCodes: HOST_CODES,
  run: (_args, options) =>
    withHome(options, async ({ home, output }) => {
      const { client } = await ensureDaemon(home, { version: readVersion() });
      const link = await client.openDashboard();
      output.data(output.json ? JSON.stringify(link) : link.url);
      if (options.open && !(await openInBrowser(link.url)))
        output.say("No browser could be started. Open the address yourself, within a minute.");
    }),
});
