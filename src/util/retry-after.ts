/**
 * retry-after.ts -- how long a server asks to be left alone (RFC 9110, 10.2.3; `retry-after-ms` is OpenAI's own).
 *
 * A date is measured against the answer's own Date header, so that neither side's clock matters.
 */

/** Milliseconds, never negative; null when the server says nothing that can be read. */
export function parseRetryAfter(headers: Headers): number | null {
  const exact = Number(headers.get("retry-after-ms") || Number.NaN);
  if (Number.isFinite(exact) && exact >= 0) return Math.ceil(exact);
  const asked = headers.get("retry-after")?.trim() ?? "";
  if (/^\d+(\.\d+)?$/.test(asked)) return Math.ceil(Number(asked) * 1000);
  const waitMs = Date.parse(asked) - Date.parse(headers.get("date") ?? "");
  return Number.isFinite(waitMs) ? Math.max(0, waitMs) : null;
}
