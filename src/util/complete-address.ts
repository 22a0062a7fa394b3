/** complete-address.ts -- completes an address as models and people type it. The HTTP client decides whether it is allowed. */

/** Adds https:// to `example.com/page`. Returns any other text unchanged. */
export const completeAddress = (text: string): string =>
  /^[\p{L}\p{N}-]+(?:\.[\p{L}\p{N}-]+)+(?::\d{1,5})?(?:[/?#]|$)/u.test(text) ? `https://${text}` : text;
