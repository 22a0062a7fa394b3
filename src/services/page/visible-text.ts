/**
 * visible-text.ts -- text from a page without characters that nobody sees.
 *
 * Beyond what a terminal would obey: marks without width, fillers, soft hyphens, tag characters and the variation selectors
 * in which whole sentences can be hidden from people and shown to models. A joiner stays where it joins
 * two visible characters, since some scripts and emoji need it.
 */
import { clean } from "#util/clean.ts";

const UNSEEN =
  /\u034f|[\u00ad\u115f\u1160\u17b4\u17b5\u180e\u200b\u2060-\u2064\u206a-\u206f\u3164\ufeff\uffa0\ufff0-\ufffb\u{e0000}-\u{e0fff}]/gu;
const JOINER_RUN = /([\u200c\u200d])[\u200c\u200d]+/g;
const STRAY_JOINER = /(?<=^|\s)[\u200c\u200d]|[\u200c\u200d](?=$|\s)/g;

export function keepVisible(text: string): string {
  return clean(text).toWellFormed().replace(UNSEEN, "").replace(JOINER_RUN, "$1").replace(STRAY_JOINER, "");
}

/** Blank lines at most one by one, no white space at the end of a line. Linear in the text. */
export function tidyLines(text: string): string {
  const lines: string[] = [];
  let blanks = 0;
  for (const line of text.split("\n")) {
    const kept = line.trimEnd();
    blanks = kept === "" ? blanks + 1 : 0;
    if (blanks < 2 && (kept !== "" || lines.length > 0)) lines.push(kept);
  }
  while (lines.at(-1) === "") lines.pop();
  return lines.join("\n");
}
