/**
 * delimit.ts -- text inside a delimiter that it cannot close.
 *
 *   <data-1x9k3fz>
 *   … whatever a page, a file or a command said …
 *   </data-1x9k3fz>
 *
 * The mark is made from the text itself and tried until the text does not contain it: no
 * randomness, so the same text reads the same in every prompt and when a run is played again, and
 * nothing to guess, since changing the text changes the mark.
 */

/** `kind` says what it is: data (nobody's instruction) or words (a person's). */
export function delimit(kind: "data" | "words", text: string): string {
  const mark = markFor(text);
  return `<${kind}-${mark}>\n${text}\n</${kind}-${mark}>`;
}

/** Ends: each try is another mark, and a text has fewer places than there are numbers. */
function markFor(text: string): string {
  const hash = hashOf(text).toString(36);
  for (let attempt = 0; ; attempt++) {
    const mark = attempt === 0 ? hash : `${hash}-${attempt}`;
    if (!text.includes(mark)) return mark;
  }
}

/** FNV-1a with a final mix, 32 bits: even and quick, no secret. */
function hashOf(text: string): number {
  let hash = 0x811c9dc5;
  for (let index = 0; index < text.length; index++) hash = Math.imul(hash ^ text.charCodeAt(index), 0x01000193);
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  return (hash ^ (hash >>> 13)) >>> 0;
}
