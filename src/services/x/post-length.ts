/**
 * post-length.ts -- counts the length of a post as X does: one for most letters, two for other characters and emoji, 23
 * for a URL.
 *
 * X decides in the end: it also counts names such as "example.com" as addresses, and lets some accounts write more.
 */

export const MAX_POST_LENGTH = 280;
/** X replaces every address by a short one of this length. */
const ADDRESS_LENGTH = 23;
const ADDRESS_PATTERN = /https?:\/\/[^\s<>"]+[^\s<>".,;:!?'()[\]]/giu;
/** Code points that count one: Latin to Georgian; some spaces, dashes and quotation marks. */
const LIGHT_RANGES: readonly (readonly [from: number, to: number])[] = [
  [0, 4351],
  [8192, 8205],
  [8208, 8223],
  [8242, 8247],
];
const HEAVY_LENGTH = 2;

export function countPostLength(text: string): number {
  const normal = text.normalize("NFC");
  const addresses = normal.match(ADDRESS_PATTERN)?.length ?? 0;
  return addresses * ADDRESS_LENGTH + countTextLength(normal.replace(ADDRESS_PATTERN, ""));
}

function countTextLength(text: string): number {
  let emoji = 0;
  const rest = text.replace(/\p{RGI_Emoji}/gv, () => {
    emoji++;
    return "";
  });
  let length = emoji * HEAVY_LENGTH;
  for (const character of rest) length += isLightCharacter(character.codePointAt(0) ?? 0) ? 1 : HEAVY_LENGTH;
  return length;
}

const isLightCharacter = (code: number): boolean => LIGHT_RANGES.some(([from, to]) => code >= from && code <= to);
