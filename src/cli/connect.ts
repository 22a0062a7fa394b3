/**
 * connect.ts -- connects a run to the daemon and its model server: the one in the settings, or one that the person
 * selects.
 *
 * A local server is offered but never used without a choice. A daemon that is started inherits a choice that is not
 * kept; a running one, and an agent that outlives this shell, need a stored one.
 */
import type { Client } from "#api/client.ts";
import type { DaemonStatus } from "#api/schemas.ts";
import { askYesNo } from "#cli/terminal/questions.ts";
import type { ConnectionChoice } from "#cli/terminal/set-up.ts";
import { connectionsOf, differingConnections } from "#config/connections.ts";
import { saveToEnvFile } from "#config/env-file.ts";
import { loadSettings } from "#config/load-settings.ts";
import { hasServer } from "#config/settings.ts";
import { EXIT, GoaldError } from "#core/errors.ts";
import { clean } from "#util/outside-text.ts";
import { type CliContext, formatCall, type GlobalOptions, redactorsFor } from "./context.ts";
import { findDaemon, reachDaemon } from "./with-agent.ts";

/** The agent is not run, because the person chose something else. */
interface Done {
  readonly kind: "done";
  readonly exitCode: number;
}

export interface ConnectOptions extends GlobalOptions {
  readonly model?: string;
  /** True for an agent in the background. */
  readonly inBackground: boolean;
  /** Called when the person chooses the demo; resolves to the exit code. */
  playDemo(): Promise<number>;
}

export interface Connected {
  readonly kind: "connected";
  readonly context: CliContext;
  readonly client: Client;
}

/**
 * Starts the daemon when none runs. Throws GOALD_KEY_MISSING when no server is set and no person can choose one, and
 * GOALD_CONFLICT when the daemon has other servers, keys, proxies or models than this shell.
 */
export async function connectRun(visited: CliContext, options: ConnectOptions): Promise<Connected | Done> {
  const isSet = hasServer(visited.settings);
  const context = isSet ? visited : await findServer(visited, options);
  if ("kind" in context) return context;
  const { client, started, status } = await reachDaemon(context);
  if (isSet && !started) requireSame(status, context, options);
  // A choice that was made for a running daemon is in the home's .env.
  else if (context !== visited && !started) await client.reload();
  return { kind: "connected", context, client };
}

/** Returns the context as it is when the running daemon has a server. */
async function findServer(visited: CliContext, options: ConnectOptions): Promise<CliContext | Done> {
  const running = await findDaemon(visited);
  if (running && differingFrom(running, visited, options).some(isOfServer)) return visited;
  return chooseServer(visited, options, options.inBackground || running !== undefined);
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
  throw new GoaldError(
    "GOALD_CONFLICT",
    `The daemon (pid ${status.pid}) has other values than this shell for ${differing.join(", ")}, so nothing was begun.`,
    { hint: `Restart it from here, its agents continue: ${formatCall(context.home, "restart")}` },
  );
}

/** Throws GOALD_KEY_MISSING when no person can choose. */
async function chooseServer(
  context: CliContext,
  options: ConnectOptions,
  mustKeep: boolean,
): Promise<CliContext | Done> {
  const { output, home } = context;
  if (!output.interactive) throw noKey(home.envFile);
  const [{ findServers }, { chooseConnection, saveKey }] = await Promise.all([
    import("#app/services.ts"),
    import("#cli/terminal/set-up.ts"),
  ]);
  const choice = await chooseConnection(output.input(), (line) => output.say(line), await findServers());
  switch (choice.kind) {
    case "key":
      if (choice.save) await saveKey(home.envFile, choice.apiKey);
      else if (mustKeep) throw notKept("key", home.envFile);
      else process.env.OPENAI_API_KEY = choice.apiKey;
      break;
    case "server":
      if (mustKeep) await keepServer(choice, context);
      else Object.assign(process.env, { OPENAI_BASE_URL: choice.baseUrl, SMART_LLM: choice.model });
      break;
    case "demo":
      return { kind: "done", exitCode: await options.playDemo() };
    case "left":
      return { kind: "done", exitCode: EXIT.interrupted };
  }
  const flags = options.model === undefined ? {} : { "models.smart": options.model };
  const loaded = await loadSettings({ home, env: process.env, flags });
  // Redacts a newly entered key too.
  return { ...context, ...redactorsFor(loaded.secrets), settings: loaded.settings };
}

/** Throws GOALD_KEY_MISSING when no server is set. */
export function requireServer({ settings, home }: Pick<CliContext, "settings" | "home">): void {
  if (!hasServer(settings)) throw noKey(home.envFile);
}

async function keepServer(
  { baseUrl, model }: Extract<ConnectionChoice, { kind: "server" }>,
  { output, home }: CliContext,
): Promise<void> {
  const isKept = await askYesNo(
    { input: output.input(), say: output.say },
    {
      question: `Keep ${clean(baseUrl)} and ${clean(model)} in this home's .env, where the daemon finds them?`,
      default: false,
      help: "  y  save both, and start the agent\n  n  start nothing",
    },
  );
  if (!isKept) throw notKept("server", home.envFile);
  await saveToEnvFile(home.envFile, "OPENAI_BASE_URL", baseUrl);
  await saveToEnvFile(home.envFile, "SMART_LLM", model);
}

const notKept = (what: "key" | "server", envFile: string): GoaldError =>
  new GoaldError(
    "GOALD_KEY_MISSING",
    `The daemon would not have the ${what}: it was not kept, and nothing was begun.`,
    {
      hint: `An agent in the background outlives this shell, so keep the ${what} in ${envFile}, or set it in the environment that the daemon starts in.`,
    },
  );

const noKey = (envFile: string): GoaldError =>
  new GoaldError("GOALD_KEY_MISSING", "There is no key and no model server in the settings.", {
    hint: `Put OPENAI_API_KEY=… into ${envFile}, or OPENAI_BASE_URL=http://127.0.0.1:11434/v1 for a server of your own.\nTo see goald at work without either: goald demo`,
  });
