/**
 * search.ts -- sends a search to one provider after the other until one of them answers.
 *
 * A refusal, a rate limit, a CAPTCHA, an unreadable answer and a timeout are failures, never "nothing found". A
 * provider that asks for a pause gets it. Answers are cached for a day.
 */
import { GoaldError, isGoaldError } from "#core/errors.ts";
import type { Clock } from "#core/ports/clock.ts";
import { type OutsideSource, webSource } from "#core/provenance.ts";
import type { SearchAnswer, WebSearch } from "#core/services.ts";
import { keepNewest } from "#util/newest.ts";
import type { SearchProvider } from "./search-provider.ts";
import { explainReason } from "./trouble.ts";

export interface WebSearchParts {
  /** In the order in which they are tried. */
  readonly providers: readonly SearchProvider[];
  readonly clock: Clock;
}

const CACHE_MS = 24 * 60 * 60_000;
const MAX_CACHED = 200;

export function createWebSearch({ providers, clock }: WebSearchParts): WebSearch {
  const cache = new Map<string, { readonly answer: SearchAnswer; readonly until: number }>();
  const pausedUntil = new Map<string, number>();
  const now = (): number => clock.now().getTime();

  return {
    async search(query, count, signal) {
      const words = query.replace(/\s+/g, " ").trim();
      const key = `${count} ${words}`;
      const cached = cache.get(key);
      if (cached && cached.until > now()) return { ...cached.answer, failed: [], isCached: true };
      const failed: { provider: string; reason: string }[] = [];
      // A redirect of a provider is in goald's own error, with the address that the provider chose.
      const quoted: OutsideSource[] = [];
      for (const { name: provider, search } of providers) {
        const until = pausedUntil.get(provider) ?? 0;
        if (until > now()) {
          failed.push({ provider, reason: `it is not asked again before ${new Date(until).toISOString()}` });
          continue;
        }
        const answered = await search(words, count, signal).catch((error: unknown) => {
          signal.throwIfAborted();
          if (isGoaldError(error)) quoted.push(webSource(provider));
          return { failed: explainReason(error) };
        });
        if ("results" in answered) {
          const answer = { provider, results: answered.results, failed, isCached: false };
          if (answered.results.length > 0) keepNewest(cache, key, { answer, until: now() + CACHE_MS }, MAX_CACHED);
          return answer;
        }
        failed.push({ provider, reason: answered.failed });
        if ("restMs" in answered && answered.restMs) pausedUntil.set(provider, now() + answered.restMs);
      }
      throw allFailed(failed, quoted);
    },
  };
}

function allFailed(failed: SearchAnswer["failed"], outside: readonly OutsideSource[]): GoaldError {
  const each = failed.map(({ provider, reason }) => `${provider}: ${reason}`).join("; ");
  return new GoaldError("GOALD_SEARCH", `The search could not be made, so nobody knows what there is. ${each}.`, {
    hint: "Try again later, or read a page whose address you know. A person can set up more of TAVILY_API_KEY, SERPER_API_KEY, BRAVE_API_KEY and SEARXNG_URL.",
    outside,
  });
}
