/** read-input.ts -- words from a pipe, for verbs that take them as an argument too. */

/** Standard input, as far as it is of use: a little beyond `maxChars`, so that one too long is seen to be. */
export async function readInput(maxChars: number): Promise<string> {
  let text = "";
  process.stdin.setEncoding("utf8");
  for await (const chunk of process.stdin) {
    text += chunk as string;
    if (text.length > 2 * maxChars) break;
  }
  return text;
}
