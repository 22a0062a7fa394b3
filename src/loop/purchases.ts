/** purchases.ts -- the paid services of one command call: advice, pictures, speech. */
import { GoaldError } from "#core/errors.ts";
import type { ModelSpending, Usage } from "#core/event.ts";
import { costOf, isFree, type Price } from "#core/limits.ts";
import type { Cloned, Download, Services, UseListener } from "#core/services.ts";
import type { AgentState } from "#core/state.ts";
import { formatSize } from "#core/text.ts";
import { estimateTokens } from "#prompt/tokens.ts";
import { type AdviceParts, openAdvice, reservationFor } from "./advise.ts";
import { type MethodParts, openMethodSearch } from "./method-search.ts";
import {
  bothReserved,
  bothSpent,
  countEmbeddings,
  type Left,
  lackOf,
  leftOf,
  NOTHING,
  type Pricing,
  type Reservation,
  tooDear,
  within,
} from "./reply-budget.ts";

export type PurchaseParts = AdviceParts & MediaParts & MethodParts & Pricing;

export interface Purchases {
  /** Maximum cost, durable before the first request. */
  readonly reserved: Reservation;
  /** Services that count their cost, in place of the host's. */
  readonly services: Partial<Services>;
  /** Undefined when no request was sent. */
  spent(): ModelSpending | undefined;
}

/** Undefined when the command needs no paid service. */
export function openPurchases(
  needs: readonly (keyof Services)[],
  state: AgentState,
  parts: PurchaseParts,
): Purchases | undefined {
  if (needs.includes("methods")) return parts.methods?.remote ? openPaidSearch(state, parts) : undefined;
  const media = PAID_SERVICES.filter((name) => needs.includes(name));
  const isAdvised = needs.includes("advisor");
  if (media.length === 0 && !isAdvised) return undefined;
  const forMedia = within(mediaReservation(media, parts), leftOf(state, NOTHING));
  const forAdvice = isAdvised ? reservationFor(state, parts, forMedia) : NOTHING;
  const bought = openMedia(leftOf(state, forAdvice), parts);
  const advice = isAdvised ? openAdvice(state, forAdvice, parts) : undefined;
  return {
    reserved: bothReserved(forMedia, forAdvice),
    services: { ...bought.services, ...(advice ? { advisor: advice.advisor } : {}) },
    spent: () => bothSpent(advice?.spent(), bought.spent()),
  };
}

/** Reserves nothing: the vectors of all methods cost cents, and are kept. */
function openPaidSearch(state: AgentState, parts: MethodParts & Pricing): Purchases {
  const { countTokens, spent } = countEmbeddings(parts);
  return { reserved: NOTHING, services: { methods: openMethodSearch(state, parts, countTokens) }, spent };
}

export type PaidService = "images" | "speech";
const PAID_SERVICES: readonly PaidService[] = ["images", "speech"];

interface MediaParts {
  readonly services: Partial<Services>;
  /** Price of the model behind a service; null when unknown. */
  readonly servicePriceOf?: (name: PaidService) => Price | null;
}

type Most = Pick<Usage, "inputTokens" | "outputTokens">;
/** Tokens of the longest prompt and the largest picture of the best quality; a speech request takes fewer. */
const MOST: Readonly<Record<PaidService, Most>> = {
  images: { inputTokens: 4_000, outputTokens: 6_240 },
  speech: { inputTokens: 16_000, outputTokens: 2_000 },
};

/** Maximum cost of one request to each of these services. */
function mediaReservation(names: readonly PaidService[], { servicePriceOf }: MediaParts): Reservation {
  return names.reduce<Reservation>(
    (sum, name) => bothReserved(sum, worthOf(MOST[name], servicePriceOf?.(name) ?? null)),
    NOTHING,
  );
}

interface Purchase {
  readonly price: Price | null;
  readonly most: Most;
  end: "not sent" | "unseen" | "seen" | "refused";
  usage: Usage | null;
}

/**
 * Opens pictures and speech for one command call, counted against the agent's limits. `command-started` reserves the
 * maximum of one request, no request that would exceed a limit is sent, and `command-finished` records the actual
 * spending. Models billed per picture or minute report no tokens: the maximum counts when a price is known, otherwise
 * nothing. A command that sends several requests and dies loses the spending of all but one. Counts the services that
 * are set up: a command can use only those that it needs.
 */
function openMedia(left: Left, parts: MediaParts) {
  const purchases: Purchase[] = [];
  const { images, speech } = parts.services;
  const services: Partial<Pick<Services, PaidService>> = {
    ...(images && {
      images: {
        generate: (prompt, size, signal) =>
          buy("images", mostOfPicture(prompt, size), (listener) => images.generate(prompt, size, signal, listener)),
      },
    }),
    ...(speech && {
      speech: {
        transcribe: (file, bytes, signal, language) =>
          buy("speech", MOST.speech, (listener) => speech.transcribe(file, bytes, signal, language, listener)),
      },
    }),
  };
  return { services, spent: () => purchases.map(spentOn).reduce(bothSpent, undefined) };

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

  function requireRoom(next: Reservation): void {
    const taken = purchases.map(takenBy).reduce(bothReserved, NOTHING);
    const lack = lackOf(next, {
      tokens: Math.max(0, left.tokens - taken.tokens),
      usd: Math.max(0, left.usd - (taken.usd ?? 0)),
    });
    if (lack) throw tooDear("Nothing was sent", lack, "Do it without, or in a smaller size.");
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

/** Counts the maximum while a request is under way. */
function takenBy(purchase: Purchase): Reservation {
  if (purchase.end === "not sent") return worthOf(purchase.most, purchase.price);
  const spent = spentOn(purchase);
  return spent ? { tokens: spent.usage.inputTokens + spent.usage.outputTokens, usd: spent.costUsd } : NOTHING;
}

function spentOn({ end, usage: reported, most, price }: Purchase): ModelSpending | undefined {
  if (end === "not sent" || end === "refused") return undefined;
  const isMost = !isFree(price) && (end === "unseen" || price !== null);
  const usage = reported ?? toUsage(isMost ? most : { inputTokens: 0, outputTokens: 0 });
  return { usage, costUsd: price ? costOf(usage, price) : null, modelCalls: 1 };
}

/** A service that costs nothing is not limited. */
const worthOf = (most: Most, price: Price | null): Reservation =>
  isFree(price)
    ? { tokens: 0, usd: 0 }
    : { tokens: most.inputTokens + most.outputTokens, usd: price ? costOf(toUsage(most), price) : null };

const toUsage = (most: Most): Usage => ({ ...most, cachedTokens: 0, estimated: true });

/** Best quality: one token per 16 by 16 pixels and one per row of these, as in the price table of gpt-image-1. */
function mostOfPicture(prompt: string, size: string): Most {
  const [width = 0, height = 0] = size.split("x").map(Number);
  const tokens = Math.ceil(height / 16) * (Math.ceil(width / 16) + 1);
  const { inputTokens, outputTokens } = MOST.images;
  return {
    inputTokens: Math.min(estimateTokens(prompt), inputTokens),
    outputTokens: tokens > 0 ? Math.min(tokens, outputTokens) : outputTokens,
  };
}

export type DownloadMeter = ReturnType<typeof meterDownloads>;

/** `limitBytes`: over the agent's life; absent for no limit. */
export function meterDownloads(
  { downloads, repositories }: Partial<Services>,
  { downloadedBytes }: Pick<AgentState, "downloadedBytes">,
  limitBytes = Number.POSITIVE_INFINITY,
) {
  let added = 0;
  async function meter<T extends Pick<Cloned | Download, "bytes">>(what: string, load: () => Promise<T>): Promise<T> {
    if (downloadedBytes + added >= limitBytes) throw exceeded(what, downloadedBytes + added, limitBytes);
    const loaded = await load();
    added += typeof loaded.bytes === "number" ? loaded.bytes : loaded.bytes.length;
    if (downloadedBytes + added > limitBytes) throw exceeded(what, downloadedBytes + added, limitBytes);
    return loaded;
  }
  const services: Partial<Pick<Services, "downloads" | "repositories">> = {
    ...(downloads && { downloads: { get: (url, signal) => meter(url, () => downloads.get(url, signal)) } }),
    ...(repositories && {
      repositories: { clone: (url, folder, signal) => meter(url, () => repositories.clone(url, folder, signal)) },
    }),
  };
  return {
    /** Services that count, in place of the host's. They throw GOALD_QUOTA_EXCEEDED before anything is saved. */
    services,
    /** For the end of the call; empty when nothing was downloaded. */
    counted: () => (added === 0 ? {} : { downloadedBytes: added }),
  };
}

/** `used`: with what was downloaded just now. */
const exceeded = (what: string, used: number, limit: number): GoaldError =>
  new GoaldError(
    "GOALD_QUOTA_EXCEEDED",
    `${what} was not saved: this agent has downloaded ${formatSize(used)} of ${formatSize(limit)} in its life (half of quota.megabytes).`,
    { hint: "Deleting files does not help; only a person can raise the setting. browse_website still reads pages." },
  );
