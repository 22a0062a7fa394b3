/**
 * inert-markdown.ts -- changes Markdown from outside so that a preview of it fetches nothing.
 *
 * Images become links, and the brackets of HTML elements that could fetch something become text. Elements without an attribute stay,
 * because code is full of them. Code is changed too: only its renderer knows for certain where it ends. Takes linear time.
 */

export function makeInert(markdown: string): string {
  const isFetching = createTagCheck(markdown);
  const isImage = createImageCheck(markdown);
  return markdown
    .replace(/<(?=[a-z])|!\[/gi, (mark, at: number) => {
      if (mark === "<") return isFetching(at) ? "&lt;" : mark;
      return isImage(at) ? "!\\[" : mark;
    })
    .replace(REMOTE_DEFINITION, "]\\:");
}

/** `[name]: address`, which an image elsewhere can use. Entities and backslashes can hide the address. */
const REMOTE_DEFINITION = /\]:(?=\s*[^\s]{0,64}?(?:[a-z]:|\/\/|[\\&]))/gi;
/** These fetch by their content. */
const ACTIVE = /(?:style|script)\b/iy;

/** Whether the tag at an offset can fetch something. Offsets must increase. */
function createTagCheck(text: string): (at: number) => boolean {
  const nameEnd = createFinder(text, /[\s/>=]/g);
  const nextEnd = createFinder(text, /[>=]/g);
  return (at) => {
    ACTIVE.lastIndex = at + 1;
    if (ACTIVE.test(text)) return true;
    const afterName = nameEnd(at);
    return /[\s/]/.test(text[afterName] ?? "") && text[nextEnd(afterName)] === "=";
  };
}

/** Whether a link's end follows in the paragraph. Offsets must increase. */
function createImageCheck(text: string): (at: number) => boolean {
  const nextLink = createFinder(text, /\]\(/g);
  const nextBlank = createFinder(text, /\n[^\S\n]*\n/g);
  return (at) => nextLink(at) < nextBlank(at);
}

/** Finds the first match from an offset on; the text's length plus one when there is none. Offsets must increase. */
function createFinder(text: string, pattern: RegExp): (from: number) => number {
  let found = -1;
  return (from) => {
    if (found >= from) return found;
    pattern.lastIndex = from;
    found = pattern.exec(text)?.index ?? text.length + 1;
    return found;
  };
}
