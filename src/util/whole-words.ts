/** whole-words.ts -- the part of a growing text that more text cannot change any more. */

/** Up to the last white space, which is part of it. Looks from the end, so that a long word costs its length once. */
export function wholeWordsOf(text: string): string {
  let end = text.length;
  while (end > 0 && /\S/.test(text[end - 1] as string)) end--;
  return text.slice(0, end);
}
