/** json-depth.ts -- bounds how deep JSON is nested, because folding, showing and hashing it recurse. */

/** Replies, arguments and prepared values nest at most this many levels; a reply of our format needs fewer than ten. */
export const MAX_JSON_DEPTH = 64;

/** Number of levels of a JSON value: 0 for a text or a number. Stops counting above the limit. */
export function depthOf(value: unknown, above = 0): number {
  if (typeof value !== "object" || value === null || above > MAX_JSON_DEPTH) return above;
  return Object.values(value).reduce((deepest: number, item) => Math.max(deepest, depthOf(item, above + 1)), above + 1);
}
