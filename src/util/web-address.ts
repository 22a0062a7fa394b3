/** web-address.ts -- web addresses as models and people type them. The HTTP client decides whether one is allowed. */

/** The sentence that refuses any other text. */
export const EXPECTED_ADDRESS =
  "Expected a whole web address with https://, without blanks and backslashes, such as https://example.com/page.";

/** Adds https:// to `example.com/page`. Returns any other text unchanged. */
export const completeAddress = (text: string): string =>
  /^[\p{L}\p{N}-]+(?:\.[\p{L}\p{N}-]+)+(?::\d{1,5})?(?:[/?#]|$)/u.test(text) ? `https://${text}` : text;

/** Ends an address in a text. People and pages write some of these signs directly behind it. */
const END_SIGN =
  '\\s"<>`\\\\^{}«»‹›\\u060c\\u061b\\u061f\\u0964\\u200b\\u2014\\u2018-\\u201f\\u2026\\u3001-\\u3011\\uff01-\\uff0f\\uff1a-\\uff1f';
/** JSON and Markdown put a backslash before some signs of an address. */
const INNER_SIGN = `(?:[^${END_SIGN}]|\\\\(?:u0026|[!#-&(-/:;=?@[\\]_|~]))`;
/**
 * Matches each address in a text, with or without `https://`, as far as it may reach: the last signs may belong to the
 * sentence.
 */
export const ADDRESS = new RegExp(
  `https?:(?:\\\\?/){2}${INNER_SIGN}+|(?<=(?:^|[^\\w@/.:-])(?:\\\\?/\\\\?/)?)(?:[a-z\\d-]+\\.)+[a-z]{2,}(?::\\d+)?(?:\\\\?/${INNER_SIGN}*)?`,
  "gi",
);

/** Decodes each layer of a URL's encoding, also `%u002e` and overlong forms. NUL, which ends a name for some, is left out. */
export const decodeUrl = (text: string): string =>
  text
    .replace(/%(?:25)*(?=u?[\da-f]{2})/gi, "%")
    .replace(/%u([\da-f]{4})/gi, (_code, hex) => String.fromCharCode(Number.parseInt(hex, 16)))
    .replace(/%(?:e0%8|f0%80%8|c)([01])%([\da-f]{2})/gi, (_code, high, low) =>
      String.fromCharCode((Number(high) << 6) | (Number.parseInt(low, 16) & 0x3f)),
    )
    .replace(/(?:%[\da-f]{2})+/gi, (codes) => Buffer.from(codes.replaceAll("%", ""), "hex").toString())
    .replaceAll("\0", "");
