/** web-headers.ts -- reads a wait from a header of the web, finds the addresses in a text, and completes one without a scheme. */

/**
 * Returns milliseconds, never negative; null without a readable header. A date is compared with the response's own Date
 * header, so that no local clock is needed.
 */
export function parseRetryAfter(headers: Headers): number | null {
  const exact = Number(headers.get("retry-after-ms") || Number.NaN);
  if (Number.isFinite(exact) && exact >= 0) return Math.ceil(exact);
  const asked = headers.get("retry-after")?.trim() ?? "";
  if (/^\d+(\.\d+)?$/.test(asked)) return Math.ceil(Number(asked) * 1000);
  const waitMs = Date.parse(asked) - Date.parse(headers.get("date") ?? "");
  return Number.isFinite(waitMs) ? Math.max(0, waitMs) : null;
}

// Completes an address as models and people type it. The HTTP client decides whether it is allowed.

/** Adds https:// to `example.com/page`. Returns any other text unchanged. */
export const completeAddress = (text: string): string =>
  /^[\p{L}\p{N}-]+(?:\.[\p{L}\p{N}-]+)+(?::\d{1,5})?(?:[/?#]|$)/u.test(text) ? `https://${text}` : text;

/** Ends an address in a text. People and pages write some of these signs directly behind it. */
const END_SIGN = '\\s"<>`\\\\^{}«»\\u2014\\u2018-\\u201f\\u2026\\u3001-\\u3011\\uff01-\\uff0f\\uff1a-\\uff1f';
/**
 * Matches each address in a text, with or without `https://`, as far as it may reach: the last signs may belong to the
 * sentence.
 */
export const ADDRESS = new RegExp(
  `https?://[^${END_SIGN}]+|(?<![\\w@/.:-])(?:[a-z\\d-]+\\.)+[a-z]{2,}(?::\\d+)?(?:/[^${END_SIGN}]*)?`,
  "gi",
);
