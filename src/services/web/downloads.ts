/**
 * downloads.ts -- downloads whole files of the public web, by the rules for pages and with a larger size limit.
 *
 * A download keeps its bytes. A secret in it is reported, not removed.
 */
import type { Downloads } from "#core/services.ts";
import type { PoliteWeb } from "./polite-web.ts";

const DOWNLOAD_LIMITS = { firstByteTimeoutMs: 30_000, idleTimeoutMs: 30_000, totalTimeoutMs: 5 * 60_000 };

/** The search for secrets takes about 20 ms per megabyte. */
const MAX_SEARCHED_BYTES = 4 * 1024 * 1024;

/** `scrub` redacts the secrets of the settings. */
export function createDownloads(web: PoliteWeb, maxBytes: number, scrub?: (text: string) => string): Downloads {
  return {
    async get(address, signal) {
      const { url, contentType, bytes } = await web.get(address, { maxBytes, limits: DOWNLOAD_LIMITS, signal });
      const text = Buffer.from(bytes.subarray(0, MAX_SEARCHED_BYTES)).toString();
      return {
        url,
        contentType: /^[\w.+-]{1,100}\/[\w.+-]{1,100}$/.test(contentType) ? contentType : "",
        bytes,
        holdsSecret: scrub !== undefined && scrub(text) !== text,
      };
    },
  };
}
