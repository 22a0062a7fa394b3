/** read-input.ts -- reads standard input, for verbs whose text may be piped. */

/** Stops shortly after `maxChars`, so that the caller can reject a longer text. */
export async function readInput(maxChars: number): Promise<string> {
  let text = "";
  process.stdin.setEncoding("utf8");
  for await (const chunk of process.stdin) {
    text += chunk as string;
    if (text.length > 2 * maxChars) break;
  }
  return text;
}
