/** retry-after.ts -- reads how long a server wants to be left alone. */

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
