/**
 * catalogue.ts -- loads the commands, prompts, prices and services of a home: the shipped ones and its overrides. Files
 * of the home may be wrong, so all are read and checked before anything is created or reloaded.
 */
import { dirname, join } from "node:path";
import { createCodeFunctions } from "#commands/code-functions.ts";
import { describeFoundCommand } from "#commands/describe.ts";
import { loadPythonModules, type PythonModule } from "#commands/python-modules.ts";
import { ALL_READY, loadRegistry, type Registry, type ServiceStates } from "#commands/registry.ts";
import type { Home } from "#config/home.ts";
import { requireOwned, requireOwnedFile } from "#config/owners.ts";
import { readTextFile } from "#config/private-file.ts";
import { DEFAULT_BASE_URL, SETTINGS, type ServiceServer, type Settings, valueAt } from "#config/settings.ts";
import { GoaldError, toError } from "#core/errors.ts";
import { isFree, type Price } from "#core/limits.ts";
import type { ServiceState } from "#core/services.ts";
import { initialState } from "#core/state.ts";
import { type CommandSet, createCommandSets } from "#loop/command-set.ts";
import type { PaidService } from "#loop/purchases.ts";
import {
  type ContextWindows,
  contextWindowOf,
  joinPrices,
  type PriceTable,
  priceOf,
  readPrices,
} from "#model/prices.ts";
import { loadWords } from "#prompt/words.ts";
import type { Aliases } from "#reply/arrange-args.ts";
import { searchersOf } from "#services/web/searchers.ts";
import type { OAuthKeys } from "#services/x/oauth.ts";
import { sha256 } from "#store/chain.ts";
import { once } from "#util/caches.ts";
import { findGit } from "#util/find-program.ts";
import { ROOT_FOLDER, readShippedJson } from "../shipped.ts";
import { cellsState, judgeByLevel, requireLevel, type SandboxLevel } from "./sandbox.ts";

export { createLiveThoughts } from "#reply/thoughts.ts";

export type Catalogue = Awaited<ReturnType<typeof loadCatalogue>>;

/**
 * `services`: the services that commands find ready. `maxDepth`: of sub-agents. Throws GOALD_COMMAND_INVALID, GOALD_TEMPLATE, GOALD_CONFIG, and
 * GOALD_HOME_UNTRUSTED for a home that others may change.
 */
export async function loadCatalogue(home: Home, services: ServiceStates, maxDepth: number, level: SandboxLevel) {
  const registry = judgeByLevel(await loadRegistryOf(home, services), level);
  const modules = await loadModulesOf(home, registry);
  const words = await loadWords(shippedAndOwn("prompts", home.promptsFolder));
  const aliases = (await readShippedJson("config/aliases.json")) as Aliases;
  const commandsFor = createCommandSets(registry.all, aliases, modules, maxDepth);
  const readThoughts: CommandSet["readThoughts"] = (...reply) => commandsFor(initialState).readThoughts(...reply);
  return {
    registry,
    modules,
    commandsFor,
    readThoughts,
    words,
    prices: await loadPrices(home),
    windows: await loadWindows(),
  };
}

export const loadWindows = async (): Promise<ContextWindows> =>
  (await readShippedJson("config/models.json")) as ContextWindows;

/** Throws GOALD_COMMAND_INVALID and GOALD_HOME_UNTRUSTED. */
export async function loadRegistryOf(home: Home, services: ServiceStates): Promise<Registry> {
  requireOwned(home);
  // Shipped commands belong to whoever installed goald.
  const mustCheck = (file: string): boolean => {
    const isOwn = dirname(file) === home.commandsFolder;
    if (isOwn) requireOwnedFile(file);
    return isOwn;
  };
  return loadRegistry(shippedAndOwn("commands", home.commandsFolder), services, mustCheck);
}

/** The Python helpers of the home. Throws as `loadRegistryOf`. */
export function loadModulesOf(home: Home, registry: Registry): Promise<readonly PythonModule[]> {
  requireOwned(home);
  const taken = once(() => {
    const commands = [...registry.all, ...registry.unavailable.map(({ command }) => command)];
    return new Set(createCodeFunctions(commands).all.map(({ name }) => name));
  });
  return loadPythonModules(home.methodsFolder, requireOwnedFile, (name) => taken().has(name));
}

/** The catalogue for reading earlier replies: all services count as ready. */
export const loadWholeCatalogue = (home: Home) => loadCatalogue(home, ALL_READY, Infinity, { finding: null });

/** Returns the maximum tokens of a request to this model, and of its reply. */
export function roomOf(model: string, settings: Settings, windows: ContextWindows) {
  const { contextTokens: own, promptTokens, replyTokens } = settings.models;
  const window = contextWindowOf(model, windows, own ?? undefined);
  return {
    contextTokens: Math.min(window, promptTokens + replyTokens),
    replyTokens: Math.min(replyTokens, Math.floor(window / 4)),
    windowTokens: window,
  };
}

/** In a checkout that is its own home, both folders are the same. */
const shippedAndOwn = (name: string, own: string): readonly string[] => [...new Set([join(ROOT_FOLDER, name), own])];

/** Returns the shipped prices, which a test checks, overridden by those of the home. */
export async function loadPrices({ configFolder }: Home): Promise<PriceTable> {
  const shipped = (await readShippedJson("config/prices.json")) as PriceTable;
  const path = join(configFolder, "prices.json");
  const own = await readOwnPrices(path);
  return joinPrices(shipped, own === undefined ? undefined : readPrices(own, path));
}

export const priceOfModel = async (home: Home, model: string, baseUrl: string): Promise<Price | undefined> =>
  priceOf(model, baseUrl, await loadPrices(home));

/** Whether a call costs money. The server of a model with a price may be on this machine: it passes calls on. */
export async function isCharged(home: Home, model: string, baseUrl: string): Promise<boolean> {
  const price = await priceOfModel(home, model, baseUrl);
  return price !== undefined && !isFree(price);
}

async function readOwnPrices(path: string): Promise<unknown> {
  try {
    const file = await readTextFile(path, MAX_PRICE_BYTES);
    return file && JSON.parse(file.text);
  } catch (cause) {
    throw new GoaldError("GOALD_CONFIG", `${path} cannot be read as JSON: ${toError(cause).message}.`, {
      hint: "Correct it, or remove the file to use the shipped prices.",
      cause,
    });
  }
}

const MAX_PRICE_BYTES = 256 * 1024;

/** The same as `serviceStates`; looks at the machine too where the settings require a level of the sandbox. */
export const findServiceStates = (settings: Settings): Promise<ServiceStates> =>
  requireLevel(serviceStates(settings), settings);

/** Returns which services are ready. For a service that is not, it includes advice for a person. */
export function serviceStates(settings: Settings): ServiceStates {
  return {
    // Every agent has a model, and its own plan and memories (agent.ts).
    ...ALL_READY,
    agents: readyIf(settings.agents.maxDepth > 0, "Set GOALD_AGENTS_MAX_DEPTH to 1 or more."),
    repositories: readyIf(findGit(process.env.PATH), "Install git, 2.37 or newer."),
    search: readyIf(
      searchersOf(settings.search).length,
      "Set TAVILY_API_KEY, SERPER_API_KEY, BRAVE_API_KEY or SEARXNG_URL, or name duckduckgo in GOALD_SEARCH_PROVIDERS.",
    ),
    cells: cellsState(settings),
    images: mediaState("images", settings),
    speech: mediaState("speech", settings),
    posts: readyIf(
      xKeysOf(settings),
      "Set TW_CONSUMER_KEY, TW_CONSUMER_SECRET, TW_ACCESS_TOKEN and TW_ACCESS_TOKEN_SECRET.",
    ),
  };
}

const readyIf = (isReady: unknown, toDo: string): ServiceState => (isReady ? { ready: true } : { ready: false, toDo });

const mediaState = (name: PaidService, settings: Settings): ServiceState =>
  readyIf(
    mediaServerOf(settings, settings[name]),
    `Set OPENAI_API_KEY, or GOALD_${name.toUpperCase()}_BASE_URL for another server.`,
  );

/** Price of the model behind a service; null when unknown. */
export function servicePriceOf(name: PaidService, settings: Settings, prices: PriceTable): Price | null {
  const server = mediaServerOf(settings, settings[name]);
  return (server && priceOf(server.model, server.baseUrl, prices)) ?? null;
}

/**
 * Returns the server of a service with its key; undefined when none is set. OpenAI's server is the only default, since
 * few others have these services. A key is sent only to the server that it was set for.
 */
export function mediaServerOf({ openai }: Settings, { model, baseUrl, apiKey }: ServiceServer) {
  const isDefault = openai.baseUrl === DEFAULT_BASE_URL && openai.apiKey !== null;
  const address = baseUrl ?? (isDefault ? openai.baseUrl : undefined);
  if (address === undefined) return undefined;
  const isSame = URL.parse(address)?.origin === URL.parse(openai.baseUrl)?.origin;
  return { model, baseUrl: address, apiKey: apiKey ?? (isSame ? openai.apiKey : null) ?? "" };
}

/** Returns all four keys, or undefined when one is missing. */
export function xKeysOf({ twitter }: Settings): OAuthKeys | undefined {
  const { consumerKey, consumerSecret, accessToken, accessTokenSecret } = twitter;
  return consumerKey && consumerSecret && accessToken && accessTokenSecret
    ? { consumerKey, consumerSecret, accessToken, accessTokenSecret }
    : undefined;
}

/** Hash of commands, Python helpers and prompt texts. A run with another hash sends other requests. */
export function catalogueHash({ commandsFor, words, registry, modules }: Catalogue): string {
  const texts = Object.entries(words).map(([name, { text }]) => [name, text]);
  const unlisted = registry.all.filter(({ listed }) => listed === false).map(describeFoundCommand);
  const helpers = modules.map(({ file, source }) => [file, source]);
  return sha256(JSON.stringify([commandsFor(initialState).commandList, texts.sort(), unlisted, helpers]));
}

/** Settings that a recording leaves out: they do not affect what happens in a run. */
const BESIDE = /^(?:agents\.approve|daemon\..*|log\.level|limits\.unattended\w+)$/;

/** Returns the settings for a recording, without secrets. */
export function recordedSettings(settings: Settings): Record<string, unknown> {
  const names = SETTINGS.filter(({ name, secret }) => secret !== true && !BESIDE.test(name)).map(({ name }) => name);
  return Object.fromEntries(names.map((name) => [name, valueAt(settings, name)]));
}
