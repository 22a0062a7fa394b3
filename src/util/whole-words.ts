/** whole-words.ts -- cuts a growing text to the words that further text cannot change. */

/** Returns the text up to and including its last white space. It searches from the end, so the cost is the last word. */
export function cutToWholeWords(text: string): string {
  let end = text.length;
  while (end > 0 && /\S/.test(text[end - 1] as string)) end--;
  return text.slice(0, end);
}
