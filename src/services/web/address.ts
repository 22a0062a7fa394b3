/** address.ts -- an address as models and people write it, made whole; whether it may be asked is the door's to say. */

/** `example.com/page` is taken for https; everything else stays as it is. */
export const wholeAddress = (text: string): string =>
  /^[\p{L}\p{N}-]+(?:\.[\p{L}\p{N}-]+)+(?::\d{1,5})?(?:[/?#]|$)/u.test(text) ? `https://${text}` : text;
