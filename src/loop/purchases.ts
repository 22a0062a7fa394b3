/** purchases.ts -- the paid services of one command call: advice, pictures, speech. */
import type { ModelSpending } from "#core/event.ts";
import type { Services } from "#core/services.ts";
import type { AgentState } from "#core/state.ts";
import { type AdviceParts, allowanceFor, openAdvice } from "./advise.ts";
import { type Allowance, bothAllowed, bothSpent, leftOf, NOTHING, within } from "./allowance.ts";
import { type MediaParts, mediaAllowance, openMedia, PAID_SERVICES } from "./media.ts";
import { type MethodParts, openMethodSearch } from "./method-search.ts";
import { countEmbeddings, type Pricing } from "./reply-cost.ts";

export type PurchaseParts = AdviceParts & MediaParts & MethodParts & Pricing;

export interface Purchases {
  /** Maximum cost, durable before the first request. */
  readonly reserved: Allowance;
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
  const forMedia = within(mediaAllowance(media, parts), leftOf(state, NOTHING));
  const forAdvice = isAdvised ? allowanceFor(state, parts, forMedia) : NOTHING;
  const bought = openMedia(media, leftOf(state, forAdvice), parts);
  const advice = isAdvised ? openAdvice(state, forAdvice, parts) : undefined;
  return {
    reserved: bothAllowed(forMedia, forAdvice),
    services: { ...bought.services, ...(advice ? { advisor: advice.advisor } : {}) },
    spent: () => bothSpent(advice?.spent(), bought.spent()),
  };
}

/** Reserves nothing: the vectors of all methods cost cents, and are kept. */
function openPaidSearch(state: AgentState, parts: MethodParts & Pricing): Purchases {
  const { countTokens, spent } = countEmbeddings(parts);
  return { reserved: NOTHING, services: { methods: openMethodSearch(state, parts, countTokens) }, spent };
}
