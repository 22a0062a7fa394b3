/**
 * search.ts -- one question, asked of one provider after the other until one of them answers.
 *
 * A refusal, a limit, a page for humans, an answer that cannot be read and a silence are all no answer, and are never told as
 * "nothing found". Who asks to be left alone is. Answers are kept for a day.
 */
import { GoaldError } from "#core/errors.ts";
import type { Clock } from "#core/ports/clock.ts";
import type { SearchAnswer, WebSearch } from "#core/services.ts";
import { keepNewest } from "#util/newest.ts";
import type { SearchProvider } from "./search-provider.ts";
import { reasonOf } from "./trouble.ts";

export interface WebSearchParts {
  /** In the order in which they are asked. */
  readonly providers: readonly SearchProvider[];
  readonly clock: Clock;
}

const KEPT_MS = 24 * 60 * 60_000;
const MAX_KEPT = 200;

export function createWebSearch({ providers, clock }: WebSearchParts): WebSearch {
  const kept = new Map<string, { readonly answer: SearchAnswer; readonly until: number }>();
  const restUntil = new Map<string, number>();
  const now = (): number => clock.now().getTime();

  return {
    async search(query, count, signal) {
      const words = query.replace(/\s+/g, " ").trim();
      const key = `${count} ${words}`;
      const known = kept.get(key);
      if (known && known.until > now()) return { ...known.answer, failed: [], isCached: true };
      const failed: { provider: string; reason: string }[] = [];
      for (const { name: provider, search } of providers) {
        const until = restUntil.get(provider) ?? 0;
        if (until > now()) {
          failed.push({ provider, reason: `it is not asked again before ${new Date(until).toISOString()}` });
          continue;
        }
        const given = await search(words, count, signal).catch((error: unknown) => {
          signal.throwIfAborted();
          return { failed: reasonOf(error) };
        });
        if ("results" in given) {
          const answer = { provider, results: given.results, failed, isCached: false };
          if (given.results.length > 0) keepNewest(kept, key, { answer, until: now() + KEPT_MS }, MAX_KEPT);
          return answer;
        }
        failed.push({ provider, reason: given.failed });
        if ("restMs" in given && given.restMs) restUntil.set(provider, now() + given.restMs);
      }
      throw nobodyAnswered(failed);
    },
  };
}

function nobodyAnswered(failed: SearchAnswer["failed"]): GoaldError {
  const each = failed.map(({ provider, reason }) => `${provider}: ${reason}`).join("; ");
  return new GoaldError("GOALD_SEARCH", `The search could not be made, so nobody knows what there is. ${each}.`, {
    hint: "Try again later, or read a page whose address you know. A person can set up more of TAVILY_API_KEY, SERPER_API_KEY, BRAVE_API_KEY and SEARXNG_URL.",
  });
}
