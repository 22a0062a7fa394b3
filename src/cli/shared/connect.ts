/**
 * connect.ts -- chooses the model server: the one in the settings, or one that the person selects.
 *
 * A local server is offered but never used without a choice. A daemon needs a stored choice, since it outlives this
 * shell and its environment.
 */

import type { ConnectionChoice } from "#cli/terminal/connect.ts";
import { askYesNo } from "#cli/terminal/questions.ts";
import { saveToEnvFile } from "#config/env-file.ts";
import { loadSettings, type SettingFlags } from "#config/load.ts";
import { hasServer } from "#config/settings.ts";
import { EXIT, GoaldError } from "#core/errors.ts";
import { clean } from "#util/clean.ts";
import { type CliContext, type GlobalOptions, redactorsFor } from "./context.ts";

export type Connection =
  | { readonly kind: "context"; readonly context: CliContext }
  /** The agent is not run, because the person chose something else. */
  | { readonly kind: "done"; readonly exitCode: number };

export interface ConnectOptions extends GlobalOptions {
  readonly model?: string;
  /** True when a daemon will use the connection instead of this process. */
  readonly forDaemon?: boolean;
  /** Called when the person chooses the demo; resolves to the exit code. */
  playDemo(): Promise<number>;
}

/** Throws GOALD_KEY_MISSING when no server is set and no person can choose one. */
export async function connected(context: CliContext, options: ConnectOptions): Promise<Connection> {
  const { settings, output, home } = context;
  if (hasServer(settings)) return { kind: "context", context };
  if (!output.interactive) throw noKey(home.envFile);
  const [{ findServers }, { chooseConnection, saveKey }] = await Promise.all([
    import("#app/services.ts"),
    import("#cli/terminal/connect.ts"),
  ]);
  const choice = await chooseConnection(output.input(), (line) => output.say(line), await findServers());
  const load = async (flags: SettingFlags): Promise<Connection> => {
    const model = options.model === undefined ? {} : { "models.smart": options.model };
    const loaded = await loadSettings({ home, env: process.env, flags: { ...flags, ...model } });
    // Redacts a newly entered key too.
    return { kind: "context", context: { ...context, ...redactorsFor(loaded.secrets), settings: loaded.settings } };
  };
  switch (choice.kind) {
    case "key":
      if (choice.save) await saveKey(home.envFile, choice.apiKey);
      else if (options.forDaemon) throw notKept("key", home.envFile);
      return load({ "openai.apiKey": choice.apiKey });
    case "server":
      if (options.forDaemon) await keepServer(choice, context);
      return load({ "openai.baseUrl": choice.baseUrl, "models.smart": choice.model });
    case "demo":
      return { kind: "done", exitCode: await options.playDemo() };
    case "left":
      return { kind: "done", exitCode: EXIT.interrupted };
  }
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
