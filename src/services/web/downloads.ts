/** downloads.ts -- whole files of the public web, with the manners and limits of pages and a larger size. */
import type { Downloads } from "#core/services.ts";
import type { PoliteWeb } from "./polite-web.ts";

const LIMITS = { firstByteTimeoutMs: 30_000, idleTimeoutMs: 30_000, totalTimeoutMs: 5 * 60_000 };

export function createDownloads(web: PoliteWeb, maxBytes: number): Downloads {
  return {
    async get(address, signal) {
      const { url, contentType, bytes } = await web.get(address, { maxBytes, limits: LIMITS, signal });
      return { url, contentType: /^[\w.+-]{1,100}\/[\w.+-]{1,100}$/.test(contentType) ? contentType : "", bytes };
    },
  };
}
