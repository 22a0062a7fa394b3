/**
 * delimit.ts -- encloses text in a delimiter that the text cannot close.
 *
 *   <data-1x9k3fz>
 *   … text of a page, a file or a command …
 *   </data-1x9k3fz>
 *
 * The mark is a hash of the text, changed until the text does not contain it. It uses no randomness, so replays are exact.
 * Nobody can guess it in advance, since a change of the text changes the mark.
 */

/** `data` is never an instruction; `words` are words of a person. */
export function delimitText(kind: "data" | "words", text: string): string {
  const mark = chooseMark(text);
  return `<${kind}-${mark}>\n${text}\n</${kind}-${mark}>`;
}

/** Terminates: a text of finite length contains finitely many marks. */
function chooseMark(text: string): string {
  const hash = hashText(text).toString(36);
  for (let attempt = 0; ; attempt++) {
    const mark = attempt === 0 ? hash : `${hash}-${attempt}`;
    if (!text.includes(mark)) return mark;
  }
}

/** 32-bit FNV-1a with a final mix: fast and uniform, not secret. */
function hashText(text: string): number {
  let hash = 0x811c9dc5;
  for (let index = 0; index < text.length; index++) hash = Math.imul(hash ^ text.charCodeAt(index), 0x01000193);
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  return (hash ^ (hash >>> 13)) >>> 0;
}
