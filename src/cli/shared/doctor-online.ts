/**
 * doctor-online.ts -- checks for `goald doctor --online` that the model server responds, accepts the key and offers the
 * configured models.
 *
 * This is the only check that uses the network, and it runs only on request. It lists models, which costs nothing.
 */

import { checkModelServer } from "#app/services.ts";
import type { Home } from "#config/home.ts";
import { type LoadedSettings, loadSettings } from "#config/load-settings.ts";
import { DEFAULT_BASE_URL, type SettingName, type Settings } from "#config/settings.ts";
import { countNoun } from "#core/text.ts";
import { type Finding, fine, problem, warning } from "./doctor-home.ts";

const TIMEOUT_MS = 10_000;

/** Returns nothing when settings are unreadable or no server is set. Other checks report these. */
export async function checkOnline(home: Home): Promise<readonly Finding[]> {
  const loaded = await loadSettings({ home, env: process.env }).catch(() => undefined);
  if (!loaded) return [];
  const { apiKey, baseUrl } = loaded.settings.openai;
  if (apiKey === null && baseUrl === DEFAULT_BASE_URL) return [];
  const server = URL.canParse(baseUrl) ? new URL(baseUrl).origin : "";
  const check = await checkModelServer(loaded.settings, TIMEOUT_MS);
  if ("problem" in check) return [problem("online", check.problem, "")];
  if (!check.names)
    return [
      warning(
        "online",
        `${server} answers, but lists no models`,
        "Does OPENAI_BASE_URL end in /v1? Some servers have none to list.",
      ),
    ];
  return checkNames(server, check, loaded);
}

function checkNames(
  server: string,
  { names, offer }: { readonly names: readonly string[]; readonly offer: string },
  { settings, originOf }: LoadedSettings,
): readonly Finding[] {
  const offered = countNoun(names.length, "model");
  const missing = settingsOfModels(settings).filter(([, model]) => !isOffered(model, names));
  if (missing.length === 0)
    return [fine("online", `${server} answers and has the models that are set, among ${offered}`)];
  return missing.map(([setting, model]) =>
    warning(
      "online",
      `${server} answers, but ${model} (${originOf(setting).name}) is not among its ${offered}`,
      `It offers: ${offer}.`,
    ),
  );
}

const settingsOfModels = ({ models }: Settings): readonly (readonly [setting: SettingName, model: string])[] => [
  ["models.smart", models.smart],
  ["models.fast", models.fast],
  ...(models.fallback === null ? [] : [["models.fallback", models.fallback] as const]),
];

/** Ollama lists the model `name` as `name:latest`. */
const isOffered = (model: string, names: readonly string[]): boolean =>
  names.includes(model) || names.includes(`${model}:latest`);
