/**
 * prices.ts -- what a model costs, by its name: config/prices.json, and over it the same file of a home.
 *
 * Prices are US dollars per million tokens; without `cachedInput` cached input costs what other input does, without
 * `output` (embeddings) output costs nothing; of a model that hears, input is sound. A name counts with and without the date or `latest` behind it, but
 * never as a mere beginning of another: `o3-pro` costs ten times what `o3` does, and a price that is too low lets an
 * agent spend more than it may. A model that is not in the table has no known price, unless a server of this machine
 * has it: that one is nobody's business but its owner's, and costs nothing.
 */
import { GoaldError } from "#core/errors.ts";
import type { Price } from "#core/limits.ts";

export interface PriceTable {
  /** Day (ISO) on which these were the prices; empty when nobody says. */
  readonly asOf: string;
  readonly usdPerMillionTokens: Readonly<Record<string, Price>>;
}

/** `baseUrl`: the server that is asked. */
export function priceOf(model: string, baseUrl: string, { usdPerMillionTokens: prices }: PriceTable) {
  for (const name of namesOf(model)) {
    const price = Object.hasOwn(prices, name) ? prices[name] : undefined;
    if (price) return price;
  }
  return isThisMachine(baseUrl) ? FREE : undefined;
}

const FREE: Price = { input: 0, cachedInput: 0, output: 0 };

/** As it is written; without a router's or publisher's path (`openai/gpt-4o`); without the day of its release. */
function namesOf(model: string): readonly string[] {
  const whole = model.trim().toLowerCase();
  const bare = whole.slice(whole.lastIndexOf("/") + 1);
  // A fine-tuned model (`ft:gpt-4o:acme::id`) has a price of its own, the same for all that come from one model.
  const family = bare.startsWith("ft:") ? bare.split(":").slice(0, 2).join(":") : bare;
  return [whole, bare, family, family.replace(RELEASE, "")];
}

/** `-2024-08-06`, `-20240806`, `-0613`, `-latest`. */
const RELEASE = /-(?:\d{4}-\d{2}-\d{2}|\d{8}|\d{4}|latest)$/;

/** Whether a server lies on this machine, by its address. */
export function isThisMachine(baseUrl: string): boolean {
  if (!URL.canParse(baseUrl)) return false;
  const { hostname } = new URL(baseUrl);
  return hostname === "localhost" || hostname.endsWith(".localhost") || hostname === "[::1]" || LOOPBACK.test(hostname);
}
/** URLs have their addresses in this form only, whatever was written. */
const LOOPBACK = /^127\.\d+\.\d+\.\d+$/;

/** The home's prices over the shipped ones, model by model. */
export const joinPrices = (shipped: PriceTable, own: PriceTable | undefined): PriceTable => ({
  asOf: own?.asOf || shipped.asOf,
  usdPerMillionTokens: { ...shipped.usdPerMillionTokens, ...own?.usdPerMillionTokens },
});

/** The content of a price file, checked. Throws GOALD_CONFIG; `file` is its path, for the message. */
export function readPrices(content: unknown, file: string): PriceTable {
  const { asOf = "", usdPerMillionTokens, ...rest } = objectOf(content, "an object with usdPerMillionTokens", file);
  const [surplus] = Object.keys(rest);
  if (surplus !== undefined) throw wrong(file, `asOf and usdPerMillionTokens only`, surplus);
  if (typeof asOf !== "string") throw wrong(file, "a day such as 2025-08-07 as asOf", asOf);
  const models = objectOf(usdPerMillionTokens, 'an object such as {"my-model": {"input": 2, "output": 8}}', file);
  const prices = Object.entries(models).map(([name, price]) => [
    name.trim().toLowerCase(),
    readPrice(price, name, file),
  ]);
  return { asOf, usdPerMillionTokens: Object.fromEntries(prices) };
}

function readPrice(value: unknown, model: string, file: string): Price {
  const expected = `${model} to have input and, if it has them, cachedInput and output, in US dollars per million tokens`;
  const { input, cachedInput = input, output = 0, ...rest } = objectOf(value, expected, file);
  if (!isAmount(input) || !isAmount(cachedInput) || !isAmount(output) || Object.keys(rest).length > 0)
    throw wrong(file, expected, value);
  return { input, cachedInput, output };
}

const isAmount = (value: unknown): value is number => typeof value === "number" && value >= 0 && value < 1_000_000;

function objectOf(value: unknown, expected: string, file: string): Record<string, unknown> {
  if (typeof value !== "object" || value === null || Array.isArray(value)) throw wrong(file, expected, value);
  return value as Record<string, unknown>;
}

const wrong = (file: string, expected: string, got: unknown): GoaldError =>
  new GoaldError("GOALD_CONFIG", `${file}: expected ${expected}; got ${JSON.stringify(got)?.slice(0, 120)}.`, {
    hint: "Correct it, or remove the file to use the shipped prices.",
  });
