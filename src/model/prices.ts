/**
 * prices.ts -- looks up what a model costs, in config/prices.json and the same file of the home, which has priority.
 *
 * Prices are US dollars per million tokens. Without `cachedInput`, cached input costs as much as other input. Without
 * `output` (embeddings), output is free. For transcription, input is audio.
 *
 * A name matches with and without a date or `latest` at its end, but never by its beginning: `o3-pro` costs ten times
 * as much as `o3`, and a price that is too low lets an agent overspend. A model outside the table has no known price,
 * but on a server of this machine it is free.
 */
import { GoaldError } from "#core/errors.ts";
import type { Price } from "#core/limits.ts";
import { rememberBy } from "#util/caches.ts";
import { isRecord } from "#util/json.ts";

export interface PriceTable {
  /** ISO date of these prices. Empty if unknown. */
  readonly asOf: string;
  readonly usdPerMillionTokens: Readonly<Record<string, Price>>;
}

/** Returns undefined for a model without a known price. `baseUrl`: the model server. */
export function priceOf(model: string, baseUrl: string, { usdPerMillionTokens: prices }: PriceTable) {
  const name = listPriceNames(model).find((each) => Object.hasOwn(prices, each));
  if (name !== undefined) return prices[name];
  return isThisMachine(baseUrl) ? FREE_PRICE : undefined;
}

const FREE_PRICE: Price = { input: 0, cachedInput: 0, output: 0 };

/** Returns the name as written, without a router's path (`openai/gpt-4o`), and without the release date. */
function listPriceNames(model: string): readonly string[] {
  const whole = model.trim().toLowerCase();
  const bare = whole.slice(whole.lastIndexOf("/") + 1);
  // All fine-tuned models of one base model (`ft:gpt-4o:acme::id`) share a price.
  const family = bare.startsWith("ft:") ? bare.split(":").slice(0, 2).join(":") : bare;
  return [whole, bare, family, family.replace(RELEASE_SUFFIX, "")];
}

/** `-2024-08-06`, `-20240806`, `-0613`, `-latest`. */
const RELEASE_SUFFIX = /-(?:\d{4}-\d{2}-\d{2}|\d{8}|\d{4}|latest)$/;

/** Decides by its address whether a server is on this machine. */
export function isThisMachine(baseUrl: string): boolean {
  const hostname = URL.parse(baseUrl)?.hostname ?? "";
  return (
    hostname === "localhost" ||
    hostname.endsWith(".localhost") ||
    hostname === "[::1]" ||
    LOOPBACK_ADDRESS.test(hostname)
  );
}
/** The URL parser normalizes addresses to this form. */
const LOOPBACK_ADDRESS = /^127\.\d+\.\d+\.\d+$/;

/** Replaces shipped prices by the home's, model by model. */
export const joinPrices = (shipped: PriceTable, own: PriceTable | undefined): PriceTable => ({
  asOf: own?.asOf || shipped.asOf,
  usdPerMillionTokens: { ...shipped.usdPerMillionTokens, ...own?.usdPerMillionTokens },
});

/** Validates the content of a price file. Throws GOALD_CONFIG. `file`: its path, for the message. */
export function readPrices(content: unknown, file: string): PriceTable {
  const {
    asOf = "",
    usdPerMillionTokens,
    ...rest
  } = requireObject(content, "an object with usdPerMillionTokens", file);
  const [surplus] = Object.keys(rest);
  if (surplus !== undefined) throw invalidPrices(file, `asOf and usdPerMillionTokens only`, surplus);
  if (typeof asOf !== "string") throw invalidPrices(file, "a day such as 2025-08-07 as asOf", asOf);
  const models = requireObject(usdPerMillionTokens, 'an object such as {"my-model": {"input": 2, "output": 8}}', file);
  const prices = Object.entries(models).map(([name, price]) => [
    name.trim().toLowerCase(),
    readPrice(price, name, file),
  ]);
  return { asOf, usdPerMillionTokens: Object.fromEntries(prices) };
}

function readPrice(value: unknown, model: string, file: string): Price {
  const expected = `${model} to have input and, if it has them, cachedInput and output, in US dollars per million tokens`;
  const { input, cachedInput = input, output = 0, ...rest } = requireObject(value, expected, file);
  if (!isAmount(input) || !isAmount(cachedInput) || !isAmount(output) || Object.keys(rest).length > 0)
    throw invalidPrices(file, expected, value);
  return { input, cachedInput, output };
}

const isAmount = (value: unknown): value is number => typeof value === "number" && value >= 0 && value < 1_000_000;

function requireObject(value: unknown, expected: string, file: string): Record<string, unknown> {
  if (isRecord(value)) return value;
  throw invalidPrices(file, expected, value);
}

const invalidPrices = (file: string, expected: string, got: unknown): GoaldError =>
  new GoaldError("GOALD_CONFIG", `${file}: expected ${expected}; got ${JSON.stringify(got)?.slice(0, 120)}.`, {
    hint: "Correct it, or remove the file to use the shipped prices.",
  });

export interface ContextWindows {
  /** Prefixes of the names of models that reason before they answer. */
  readonly reasoning: readonly string[];
  /** Maps a prefix of model names to the window in tokens. */
  readonly contextTokens: Readonly<Record<string, number>>;
  readonly unknownModelTokens: number;
}

/**
 * Looks up by its name how many tokens a model accepts, prompt and reply together. The table is config/models.json:
 * prefixes of model names, of which the longest match counts. Local servers accept far less than the model was trained
 * for, so local model families have the defaults of common servers. `override` is the person's setting and wins.
 */
export function contextWindowOf(model: string, table: ContextWindows, override?: number): number {
  return override ?? findLongestPrefix(table, model);
}

export const isReasoningModel = (model: string, { reasoning }: ContextWindows): boolean =>
  reasoning.some((prefix) => removeModelPath(model).startsWith(prefix));

/** Each step asks, usually for the same model. */
const findLongestPrefix = rememberBy((table: ContextWindows, model: string): number => {
  const name = removeModelPath(model);
  const prefixes = Object.keys(table.contextTokens).filter((prefix) => prefix !== "" && name.startsWith(prefix));
  const [longest = ""] = prefixes.sort((a, b) => b.length - a.length);
  return table.contextTokens[longest] ?? table.unknownModelTokens;
});

/** Removes a router's path (`openai/gpt-4o`) and the prefix of a fine-tuned model (`ft:gpt-4o:…`). */
function removeModelPath(model: string): string {
  const lower = model.trim().toLowerCase().replace(/^ft:/, "");
  return lower.slice(lower.lastIndexOf("/") + 1);
}
