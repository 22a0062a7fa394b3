/** web-address.ts -- web addresses as models and people type them. The HTTP client decides whether one is allowed. */

/** The sentence that refuses any other text. */
export const EXPECTED_ADDRESS =
  "Expected a whole web address without blanks and backslashes, such as https://example.com/page.";

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
