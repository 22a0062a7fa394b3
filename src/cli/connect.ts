/**
 * connect.ts -- connects a run to the daemon and its model server: the one in the settings, or one that the person
 * selects.
 *
 * A server is never used without a choice. A daemon that is started inherits a choice that is not kept; a running one,
 * and an agent that outlives this shell, need a stored one.
 */
import type { DaemonStatus } from "#api/schemas.ts";
import type { ServerChoice, ServerProbe } from "#cli/terminal/set-up.ts";
import { connectionsOf, differingConnections } from "#config/connections.ts";
import { saveToEnvFile } from "#config/env-file.ts";
import { loadSettings } from "#config/load-settings.ts";
import { openFolder } from "#config/open-home.ts";
import { hasServer, type Settings } from "#config/settings.ts";
import { conflict, EXIT, GoaldError } from "#core/errors.ts";
import { type CliContext, formatCall, type GlobalOptions, redactorsFor } from "./context.ts";
import { flagsOf } from "./run-options.ts";
import { findDaemon, reachDaemon, reachHost } from "./with-agent.ts";

export interface ConnectOptions extends GlobalOptions {
  readonly model?: string;
  /** True for an agent in the background. */
  readonly inBackground: boolean;
  /** Called when the person chooses the demo; resolves to the exit code. */
  playDemo(): Promise<number>;
  /** The person has described an agent: after the demo, the choice comes again. */
  readonly hasAgent: boolean;
}

/**
 * Starts the daemon when none runs. Resolves to an exit code when the person chose something else than running the
 * agent. Throws GOALD_KEY_MISSING when no server is set and no person can choose one, and
 * GOALD_CONFLICT when the daemon has other servers, keys, proxies or models than this shell.
 */
export async function connectRun(visited: CliContext, options: ConnectOptions) {
  const context = await findServer(visited, options);
  if (typeof context === "number") return context;
  const { client, started, status } = await reachDaemon(context);
  if (hasServer(context.settings) && !started) requireSame(status, context, options);
  return { context, client };
}

/** Returns the context as it is when its settings or those of the running daemon have a server; else asks for one, as `connectRun`. */
export async function findServer(visited: CliContext, options: ConnectOptions): Promise<CliContext | number> {
  if (hasServer(visited.settings)) return visited;
  const running = await findDaemon(visited);
  if (running && differingFrom(running, visited, options).some(isOfServer)) return visited;
  const chosen = await chooseServer(visited, options, options.inBackground || running !== undefined);
  // The choice is in the home's .env.
  if (typeof chosen !== "number" && running) await (await reachHost(chosen)).reload();
  return chosen;
}

const isOfServer = (name: string): boolean => name === "openai.apiKey" || name === "openai.baseUrl";

function differingFrom(
  { connections, startedAt }: DaemonStatus,
  { settings }: CliContext,
  { model }: ConnectOptions,
): readonly string[] {
  const differing = differingConnections(connectionsOf(settings, process.env, startedAt), connections);
  return differing.filter((name) => name !== "models.smart" || model === undefined);
}

function requireSame(status: DaemonStatus, context: CliContext, options: ConnectOptions): void {
  const differing = differingFrom(status, context, options);
  if (differing.length === 0) return;
  throw conflict(
    `The daemon (pid ${status.pid}) has other values than this shell for ${differing.join(", ")}, so nothing was begun.`,
    `Restart it from here, its agents continue: ${formatCall(context.home, "restart")}`,
  );
}

/** Throws GOALD_KEY_MISSING when no person can choose. */
async function chooseServer(
  context: CliContext,
  options: ConnectOptions,
  mustKeep: boolean,
): Promise<CliContext | number> {
  const { output, home } = context;
  if (!output.interactive) throw noKey(home.envFile);
  const { chooseConnection } = await import("#cli/terminal/set-up.ts");
  const probe = await openProbe(context);
  for (;;) {
    const choice = await chooseConnection({ input: output.input, say: output.page }, probe, home.envFile);
    if (choice.kind === "left") return EXIT.interrupted;
    if (choice.kind === "demo") {
      const exitCode = await options.playDemo();
      if (!options.hasAgent || exitCode !== EXIT.ok) return exitCode;
      output.say("\nYour agent has not begun.");
      continue;
    }
    if (!choice.save && mustKeep) throw notKept(home.envFile);
    if (choice.save) await openFolder(home.root, home);
    for (const [name, value] of Object.entries(variablesOf(choice.server)))
      if (choice.save) await saveToEnvFile(home.envFile, name, value);
      else process.env[name] = value;
    const loaded = await loadSettings({ home, env: process.env, flags: flagsOf(options) });
    // Redacts a newly entered key too.
    return { ...context, ...redactorsFor(loaded.secrets), settings: loaded.settings };
  }
}

/** A server seldom has the models of another one, so that the chosen model does small tasks too. */
const variablesOf = ({ baseUrl, apiKey, model }: ServerChoice): Readonly<Record<string, string>> => ({
  ...(baseUrl === undefined ? {} : { OPENAI_BASE_URL: baseUrl }),
  ...(apiKey === undefined ? {} : { OPENAI_API_KEY: apiKey }),
  ...(model === undefined ? {} : { SMART_LLM: model, FAST_LLM: model }),
});

const LIST_MS = 10_000;

async function openProbe({ home, settings }: CliContext): Promise<ServerProbe> {
  const { findServers, listModels, tryModel } = await import("#app/services.ts");
  const { openai, models } = settings;
  const settingsOf = ({ baseUrl, apiKey, model }: ServerChoice): Settings => ({
    ...settings,
    openai: { baseUrl: baseUrl ?? openai.baseUrl, apiKey: apiKey ?? openai.apiKey },
    models: { ...models, smart: model ?? models.smart },
  });
  return {
    found: await findServers(),
    list: async (server) => {
      const listed = await listModels(home, settingsOf(server), LIST_MS);
      if ("problem" in listed || !listed.hasList) return "problem" in listed ? listed : undefined;
      return listed.models.flatMap(({ name, isForChat, isOffered }) => (isForChat && isOffered ? [name] : []));
    },
    test: (server) => tryModel(home, settingsOf(server)),
  };
}

/** Throws GOALD_KEY_MISSING when no server is set. */
export function requireServer({ settings, home }: Pick<CliContext, "settings" | "home">): void {
  if (!hasServer(settings)) throw noKey(home.envFile);
}

const notKept = (envFile: string): GoaldError =>
  new GoaldError("GOALD_KEY_MISSING", "The daemon would not have the server: it was not kept, and nothing was begun.", {
    hint: `The daemon outlives this shell, so keep the server in ${envFile}, or set it in the environment that the daemon starts in.`,
  });

const noKey = (envFile: string): GoaldError =>
  new GoaldError("GOALD_KEY_MISSING", "There is no key and no model server in the settings.", {
    hint: `Put OPENAI_API_KEY=… into ${envFile}, or OPENAI_BASE_URL=http://127.0.0.1:11434/v1 for a server of your own.\nTo see goald at work without either: goald demo`,
  });
