/** downloads.ts -- downloads whole files of the public web, by the rules for pages and with a larger size limit. */
import type { Downloads } from "#core/services.ts";
import type { PoliteWeb } from "./polite-web.ts";

const DOWNLOAD_LIMITS = { firstByteTimeoutMs: 30_000, idleTimeoutMs: 30_000, totalTimeoutMs: 5 * 60_000 };

export function createDownloads(web: PoliteWeb, maxBytes: number): Downloads {
  return {
    async get(address, signal) {
      const { url, contentType, bytes } = await web.get(address, { maxBytes, limits: DOWNLOAD_LIMITS, signal });
      return { url, contentType: /^[\w.+-]{1,100}\/[\w.+-]{1,100}$/.test(contentType) ? contentType : "", bytes };
    },
  };
}
