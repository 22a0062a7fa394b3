/**
 * connect.ts -- a model to talk to: what the settings name, or what a person chooses when they name none.
 *
 * A server found on this machine is offered, never used unasked.
 */
import { loadSettings, type SettingFlags } from "#config/load.ts";
import { DEFAULT_BASE_URL } from "#config/settings.ts";
import { EXIT, GoaldError } from "#core/errors.ts";
import { chooseConnection, saveKey } from "#terminal/connect.ts";
import { findServers } from "../main.ts";
import { demoVerb } from "./demo.ts";
import { type House, netsFor } from "./house.ts";
import type { RunOptions } from "./run.ts";

export type Connection =
  | { readonly kind: "house"; readonly house: House }
  /** The person chose something else than running the agent. */
  | { readonly kind: "done"; readonly exitCode: number };

export async function connected(house: House, options: RunOptions): Promise<Connection> {
  const { settings, talk, home } = house;
  // A server of one's own may want no key; OpenAI's always does.
  if (settings.openai.apiKey !== null || settings.openai.baseUrl !== DEFAULT_BASE_URL) return { kind: "house", house };
  if (!talk.interactive) throw noKey(home.envFile);
  const choice = await chooseConnection(talk.input(), (line) => talk.say(line), await findServers());
  const load = async (flags: SettingFlags): Promise<Connection> => {
    const model = options.model === undefined ? {} : { "models.smart": options.model };
    const loaded = await loadSettings({ home, env: process.env, flags: { ...flags, ...model } });
    // A key that was pasted just now is as secret as one from a file.
    return { kind: "house", house: { ...house, ...netsFor(loaded.secrets), settings: loaded.settings } };
  };
  switch (choice.kind) {
    case "key":
      if (choice.save) await saveKey(home.envFile, choice.apiKey);
      return load({ "openai.apiKey": choice.apiKey });
    case "server":
      return load({ "openai.baseUrl": choice.baseUrl, "models.smart": choice.model });
    case "demo":
      return { kind: "done", exitCode: await demoVerb(options) };
    case "left":
      return { kind: "done", exitCode: EXIT.interrupted };
  }
}

const noKey = (envFile: string): GoaldError =>
  new GoaldError("GOALD_KEY_MISSING", "There is no key and no model server in the settings.", {
    hint: `Put OPENAI_API_KEY=… into ${envFile}, or OPENAI_BASE_URL=http://127.0.0.1:11434/v1 for a server of your own.\nTo see goald at work without either: goald demo`,
  });
