/**
 * main-catalogue.ts -- what a home says about commands, words and prices: the shipped ones, and its own over them.
 *
 * A person's own may be wrong, so all of it is read and checked before anything is created or reloaded.
 */
import { join } from "node:path";
import { describeForPrompt } from "#commands/describe.ts";
import { ALL_READY, loadRegistry, type Registry, type ServiceStates } from "#commands/registry.ts";
import type { Home } from "#config/home.ts";
import { readTextFile } from "#config/private-file.ts";
import type { Settings } from "#config/settings.ts";
import { GoaldError, toError } from "#core/errors.ts";
import { type ContextWindows, contextWindowOf } from "#model/context-window.ts";
import { isThisMachine, joinPrices, type PriceTable, priceOf, readPrices } from "#model/prices.ts";
import { loadWords, type Words } from "#prompt/template.ts";
import { createReplyReader, type ParsedReply } from "#reply/read.ts";
import { replySchemaOf } from "#reply/reply-schema.ts";
import { ROOT_FOLDER, readShippedJson } from "../shipped.ts";

export { createLiveThoughts } from "#reply/live-thoughts.ts";

export interface Catalogue {
  readonly registry: Registry;
  /** The commands as the prompt lists them. */
  readonly commandList: string;
  readonly words: Words;
  readonly prices: PriceTable;
  readonly windows: ContextWindows;
  readReply(text: string, finishReason: string): ParsedReply;
  /** A reply as a strict JSON schema, for servers that keep to one. */
  readonly replySchema: object;
}

/** `services`: what its commands find set up. Throws GOALD_COMMAND_INVALID, GOALD_TEMPLATE and GOALD_CONFIG for what cannot be used. */
export async function loadCatalogue(home: Home, services: ServiceStates): Promise<Catalogue> {
  const registry = await loadRegistryOf(home, services);
  const words = await loadWords(shippedAndOwn("prompts", home.promptsFolder));
  const aliases = await readShippedJson("config/aliases.json");
  return {
    registry,
    commandList: describeForPrompt(registry.all),
    words,
    prices: await loadPrices(home),
    windows: (await readShippedJson("config/models.json")) as ContextWindows,
    readReply: createReplyReader(readableBy(registry, aliases)),
    replySchema: replySchemaOf(registry.all),
  };
}

/** Throws GOALD_COMMAND_INVALID. */
export const loadRegistryOf = ({ commandsFolder }: Home, services: ServiceStates): Promise<Registry> =>
  loadRegistry(shippedAndOwn("commands", commandsFolder), services);

/** The catalogue for reading what was said earlier, whatever is set up now. */
export const loadWholeCatalogue = (home: Home): Promise<Catalogue> => loadCatalogue(home, ALL_READY);

/** How long a request to this model may be, in tokens. */
export function roomOf(model: string, settings: Settings, windows: ContextWindows) {
  const { contextTokens: own, promptTokens, replyTokens } = settings;
  const window = contextWindowOf(model, windows, own ?? undefined);
  return {
    contextTokens: Math.min(window, promptTokens + replyTokens),
    replyTokens: Math.min(replyTokens, Math.floor(window / 4)),
  };
}

/** A checkout that is its own home has them in one place. */
const shippedAndOwn = (name: string, own: string): readonly string[] => [...new Set([join(ROOT_FOLDER, name), own])];

/** The shipped prices, and over them those of the home. */
export async function loadPrices({ configFolder }: Home): Promise<PriceTable> {
  const name = "config/prices.json";
  const shipped = readPrices(await readShippedJson(name), name);
  const path = join(configFolder, "prices.json");
  const own = await readOwnPrices(path);
  return joinPrices(shipped, own === undefined ? undefined : readPrices(own, path));
}

/** Whether a call is known to cost money: the model has a price, and its server is somebody else's. */
export const isCharged = async (home: Home, model: string, baseUrl: string): Promise<boolean> =>
  !isThisMachine(baseUrl) && priceOf(model, baseUrl, await loadPrices(home)) !== undefined;

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

function readableBy(registry: Registry, aliases: unknown): Parameters<typeof createReplyReader>[0] {
  return {
    schemas: Object.fromEntries(registry.all.map((command) => [command.name, command.args])),
    hasSideEffect: (name) => registry.get(name)?.annotations.readOnly !== true,
    aliases: aliases as Parameters<typeof createReplyReader>[0]["aliases"],
  };
}
