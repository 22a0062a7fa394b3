/**
 * visible-text.ts -- removes characters from text that no person sees.
 *
 * Besides control codes: zero-width characters, fillers, soft hyphens, tag characters and variation selectors, which
 * can hide whole sentences from people and show them to models. Keeps a joiner between two visible characters: some
 * scripts and emoji need it.
 */
import { clean } from "#util/clean.ts";

const INVISIBLE =
  /\u034f|[\u00ad\u115f\u1160\u17b4\u17b5\u180e\u200b\u2060-\u2064\u206a-\u206f\u3164\ufeff\uffa0\ufff0-\ufffb\u{e0000}-\u{e0fff}]/gu;
const JOINER_RUN = /([\u200c\u200d])[\u200c\u200d]+/g;
const STRAY_JOINER = /(?<=^|\s)[\u200c\u200d]|[\u200c\u200d](?=$|\s)/g;

export function keepVisible(text: string): string {
  return clean(text).toWellFormed().replace(INVISIBLE, "").replace(JOINER_RUN, "$1").replace(STRAY_JOINER, "");
}

/** Reduces runs of blank lines to one and removes trailing white space. Takes linear time. */
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
