/**
 * post-length.ts -- how long a post is as X counts: letters of most scripts one, the rest and emoji two, an address 23.
 *
 * X has the last word: it also takes names such as "example.com" for addresses, which is not done here, and lets some
 * accounts write more.
 */

export const MAX_POST_LENGTH = 280;
/** Every address is replaced by a short one of this length. */
const ADDRESS_LENGTH = 23;
const ADDRESS = /https?:\/\/[^\s<>"]+[^\s<>".,;:!?'()[\]]/giu;
/** Latin and the scripts behind it up to Georgian; then some spaces, dashes and quotation marks. */
const LIGHT: readonly (readonly [from: number, to: number])[] = [
  [0, 4351],
  [8192, 8205],
  [8208, 8223],
  [8242, 8247],
];
const HEAVY = 2;

export function postLength(text: string): number {
  const normal = text.normalize("NFC");
  const addresses = normal.match(ADDRESS)?.length ?? 0;
  return addresses * ADDRESS_LENGTH + lengthOfWords(normal.replace(ADDRESS, ""));
}

function lengthOfWords(text: string): number {
  let emoji = 0;
  const rest = text.replace(/\p{RGI_Emoji}/gv, () => {
    emoji++;
    return "";
  });
  let length = emoji * HEAVY;
  for (const character of rest) length += isLight(character.codePointAt(0) ?? 0) ? 1 : HEAVY;
  return length;
}

const isLight = (code: number): boolean => LIGHT.some(([from, to]) => code >= from && code <= to);
