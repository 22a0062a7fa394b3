/**
 * media.ts -- pictures and speech for one call of a command, on the agent's account.
 *
 * They are counted like the loop's own questions: the most that a request may take is set aside in `command-started`, no
 * request leaves that would go beyond the agent's limits, and what was spent rides in `command-finished`. Who is billed
 * by the picture or the minute is told no tokens: then nothing is counted where no price is known, and the most where
 * one is. Set aside is one request: a command that makes several loses sight of the others when its process dies.
 */
import type { ModelSpending, Usage } from "#core/event.ts";
import { costOf, type Price } from "#core/limits.ts";
import type { Services, UseListener } from "#core/services.ts";
import { estimateTokens } from "#prompt/tokens.ts";
import { type Allowance, bothAllowed, bothSpent, type Left, lackOf, NOTHING, tooDear } from "./allowance.ts";

export type PaidService = "images" | "speech";
export const PAID_SERVICES: readonly PaidService[] = ["images", "speech"];

export interface MediaParts {
  readonly services: Partial<Services>;
  /** Of the model behind a service; null where nobody knows. Absent: of none. */
  readonly servicePriceOf?: (name: PaidService) => Price | null;
}

export interface Media {
  readonly services: Partial<Pick<Services, PaidService>>;
  /** undefined when nothing was asked for. */
  spent(): ModelSpending | undefined;
}

interface Most {
  readonly inputTokens: number;
  readonly outputTokens: number;
}
/** The longest prompt and the largest picture of the dearest quality; a model that hears takes no more at once. */
const MOST: Readonly<Record<PaidService, Most>> = {
  images: { inputTokens: 4_000, outputTokens: 6_240 },
  speech: { inputTokens: 16_000, outputTokens: 2_000 },
};

/** For one request to each of these. */
export function mediaAllowance(names: readonly PaidService[], { servicePriceOf }: MediaParts): Allowance {
  return names.reduce<Allowance>(
    (sum, name) => bothAllowed(sum, worthOf(MOST[name], servicePriceOf?.(name) ?? null)),
    NOTHING,
  );
}

interface Purchase {
  readonly price: Price | null;
  readonly most: Most;
  end: "not sent" | "unseen" | "seen" | "refused";
  usage: Usage | null;
}

export function openMedia(names: readonly PaidService[], left: Left, parts: MediaParts): Media {
  const purchases: Purchase[] = [];
  const { images, speech } = parts.services;
  return {
    services: {
      ...(images && names.includes("images")
        ? {
            images: {
              generate: (prompt, size, signal) =>
                buy("images", mostOfPicture(prompt, size), (listener) =>
                  images.generate(prompt, size, signal, listener),
                ),
            },
          }
        : {}),
      ...(speech && names.includes("speech")
        ? {
            speech: {
              transcribe: (file, bytes, signal, language) =>
                buy("speech", MOST.speech, (listener) => speech.transcribe(file, bytes, signal, language, listener)),
            },
          }
        : {}),
    },
    spent: () => purchases.map(spentOn).reduce(bothSpent, undefined),
  };

  async function buy<T>(name: PaidService, most: Most, act: (listener: UseListener) => Promise<T>): Promise<T> {
    const price = parts.servicePriceOf?.(name) ?? null;
    requireRoom(worthOf(most, price));
    const purchase: Purchase = { price, most, end: "not sent", usage: null };
    purchases.push(purchase);
    try {
      return await act(listenerOf(purchase));
    } finally {
      if (purchase.end === "not sent") purchase.end = "refused";
    }
  }

  function requireRoom(next: Allowance): void {
    const taken = purchases.map(takenBy).reduce(bothAllowed, NOTHING);
    const lack = lackOf(next, {
      tokens: Math.max(0, left.tokens - taken.tokens),
      usd: Math.max(0, left.usd - (taken.usd ?? 0)),
    });
    if (lack) throw notSent(lack);
  }
}

const listenerOf = (purchase: Purchase): UseListener => ({
  sent: () => {
    if (purchase.end === "not sent") purchase.end = "unseen";
  },
  took: (usage) => {
    if (purchase.end === "unseen") Object.assign(purchase, { end: "seen", usage });
  },
  refused: () => {
    if (purchase.end === "unseen") purchase.end = "refused";
  },
});

/** While it is under way, the most that it may take. */
function takenBy(purchase: Purchase): Allowance {
  if (purchase.end === "not sent") return worthOf(purchase.most, purchase.price);
  const spent = spentOn(purchase);
  return spent ? { tokens: spent.usage.inputTokens + spent.usage.outputTokens, usd: spent.costUsd } : NOTHING;
}

function spentOn({ end, usage: told, most, price }: Purchase): ModelSpending | undefined {
  if (end === "not sent" || end === "refused") return undefined;
  const isMost = !isFree(price) && (end === "unseen" || price !== null);
  const usage = told ?? toUsage(isMost ? most : { inputTokens: 0, outputTokens: 0 });
  return { usage, costUsd: price ? costOf(usage, price) : null, modelCalls: 1 };
}

/** What costs nothing needs no room, whatever it takes. */
const worthOf = (most: Most, price: Price | null): Allowance =>
  isFree(price)
    ? { tokens: 0, usd: 0 }
    : { tokens: most.inputTokens + most.outputTokens, usd: price ? costOf(toUsage(most), price) : null };

const isFree = (price: Price | null): boolean => price?.input === 0 && price.output === 0;
const toUsage = (most: Most): Usage => ({ ...most, cachedTokens: 0, estimated: true });

/** In the dearest quality: a token for each 16 by 16 pixels and one for each row of them, by the table of gpt-image-1. */
function mostOfPicture(prompt: string, size: string): Most {
  const [width = 0, height = 0] = size.split("x").map(Number);
  const tokens = Math.ceil(height / 16) * (Math.ceil(width / 16) + 1);
  const { inputTokens, outputTokens } = MOST.images;
  return {
    inputTokens: Math.min(estimateTokens(prompt), inputTokens),
    outputTokens: tokens > 0 ? Math.min(tokens, outputTokens) : outputTokens,
  };
}

const notSent = (why: string) => tooDear("Nothing was sent", why, "Do it without, or in a smaller size.");
