/** whole-words.ts -- cuts a growing text to the words that further text cannot change. */

const STRING_END = /^[^\\]"[,:}\]]$/;

/**
 * Returns the text up to and including its last white space. It searches from the end, so the cost is the last word. In
 * JSON the end of a string ends a word, too: a quote inside a string is escaped, so no secret continues behind it.
 */
export function cutToWholeWords(text: string, isJson = false): string {
  const endsString = (end: number): boolean => isJson && STRING_END.test(text.slice(end - 2, end + 1));
  let end = text.length;
  while (end > 0 && !/\s/.test(text[end - 1] as string) && !endsString(end)) end--;
  return text.slice(0, end);
}
