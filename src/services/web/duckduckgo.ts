/**
 * duckduckgo.ts -- searches with DuckDuckGo's page for browsers without scripts. It needs no key, and is last in the
 * chain.
 *
 * A CAPTCHA page looks much like a page without results. Only an explicit "no results" counts as none; a page that is
 * not understood is a failure.
 */
import type { Clock } from "#core/ports/clock.ts";
import type { Http } from "#http/http.ts";
import { createHostPace } from "./pace.ts";
import { explainProviderStatus, PROVIDER_LIMITS, type ProviderAnswer, type SearchProvider } from "./search-provider.ts";
import { readResults } from "./search-text.ts";

export interface DuckDuckGoParts {
  readonly baseUrl: string;
  readonly http: Pick<Http, "public">;
  readonly clock: Clock;
  readonly userAgent: string;
}

/** Further requests would extend the block. */
const BLOCKED: ProviderAnswer = { failed: "it takes goald for a robot", restMs: 5 * 60_000 };

export function createDuckDuckGo({ baseUrl, http, clock, userAgent }: DuckDuckGoParts): SearchProvider {
  const pace = createHostPace(clock);
  return {
    name: "duckduckgo",
    async search(query, count, signal) {
      const url = new URL(`${baseUrl.replace(/\/+$/, "")}/html/`);
      await pace.waitTurn(url.host, 0, signal);
      const send = http.public(PROVIDER_LIMITS);
      const headers = {
        accept: "text/html",
        "accept-language": "en",
        "content-type": "application/x-www-form-urlencoded",
        "user-agent": userAgent,
      };
      const body = new URLSearchParams({ q: query }).toString();
      const response = await send(url, { method: "POST", headers, body, signal });
      const failure = response.status === 403 ? BLOCKED : explainProviderStatus(response);
      if (failure) {
        await response.body?.cancel();
        return failure;
      }
      return readResultPage(await response.text(), count);
    },
  };
}

async function readResultPage(html: string, count: number): Promise<ProviderAnswer> {
  const { parseHTML } = await import("linkedom");
  const { document } = parseHTML(html);
  if (document.querySelector("[class*='anomaly-modal'], #challenge-form, form[action*='anomaly']")) return BLOCKED;
  const found = [...document.querySelectorAll(".result")].filter(
    (result) => !/\bresult--(?:ad|no-result)\b/.test(result.getAttribute("class") ?? ""),
  );
  const rows = found.map((result) => {
    const link = result.querySelector("a.result__a");
    const text = result.querySelector(".result__snippet")?.textContent;
    return [link?.textContent, unwrapTarget(link?.getAttribute("href") ?? ""), text] as const;
  });
  const results = readResults(rows, count);
  if (results.length > 0) return { results };
  const saysNoResults = document.querySelector(".no-results, .result--no-result") !== null;
  return saysNoResults && found.length === 0 ? { results } : { failed: "its page could not be read" };
}

/** Unwraps DuckDuckGo's redirect address. Any other link to DuckDuckGo itself is an advertisement. */
function unwrapTarget(href: string): string | undefined {
  const base = "https://duckduckgo.com/";
  if (!URL.canParse(href, base)) return undefined;
  const url = new URL(href, base);
  const target = url.searchParams.get("uddg");
  if (target !== null && url.pathname === "/l/") return target;
  return /(?:^|\.)duckduckgo\.com$/.test(url.hostname) ? undefined : url.href;
}
