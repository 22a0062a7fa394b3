/**
 * address-status.ts -- asks for the HTTP status of an address that a person named, by the rules for the public web.
 *
 * The answer is not read. A redirect leads to an address that a server chose: no error names it.
 */
import { GoaldError } from "#core/errors.ts";
import type { AddressStatus } from "#core/goal-check.ts";
import type { Http } from "#http/http.ts";
import { MAX_REDIRECTS, nextHop, type RedirectHop } from "#http/redirect.ts";
import { explainWebError } from "./trouble.ts";

export function createAddressStatus(http: Pick<Http, "public">, userAgent: string): AddressStatus {
  const fetchPublic = http.public();
  return {
    async get(address, { follows }, signal) {
      if (!URL.canParse(address))
        throw new GoaldError("GOALD_HTTP_REFUSED", "Expected a whole web address, such as https://example.com/page.");
      const headers = { "user-agent": userAgent, accept: "*/*" };
      let hop: RedirectHop = { url: new URL(address), init: { headers, signal, redirect: "manual" } };
      const first = hop.url.origin;
      for (let hops = 0; hops <= MAX_REDIRECTS; hops++) {
        const { url, init } = hop;
        const response = await fetchPublic(url, init).catch((error: unknown) => {
          signal.throwIfAborted();
          throw hops === 0 ? explainWebError(first, error) : failedBehind(first, error);
        });
        void response.body?.cancel().catch(() => undefined);
        const next = follows ? findNextHop(first, hop, response) : undefined;
        if (!next) return response.status;
        hop = next;
      }
      throw new GoaldError("GOALD_WEB", `${first} leads on and on: more than ${MAX_REDIRECTS} redirects.`);
    },
  };
}

function findNextHop(first: string, { url, init }: RedirectHop, response: Response): RedirectHop | undefined {
  try {
    return nextHop(url, init, response);
  } catch (error) {
    throw failedBehind(first, error);
  }
}

const failedBehind = (first: string, cause: unknown): GoaldError =>
  new GoaldError("GOALD_WEB", `${first} leads to another address, which could not be asked.`, { cause });
