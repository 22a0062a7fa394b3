/**
 * slug.ts -- from an agent's name to its id, which is also the name of its folder.
 *
 * Letters and digits of every script stay, in lower case; Latin letters lose their accents; all
 * else becomes a hyphen. So an id is typed easily, is no option, no hidden file and no path, is
 * told apart on file systems that ignore case, and is no device of Windows.
 */

import { GoaldError } from "#core/errors.ts";
import { SHARED_MEMORY } from "#core/memory.ts";

/** In code points: with four bytes each and a number behind, still below the 255 bytes of a file name. */
const MAX_CHARS = 48;
const WINDOWS_DEVICE = /^(?:con|prn|aux|nul|conin|conout|clock|com\d|lpt\d)$/;
const WITHOUT_NAME = "agent";

export function slugOf(name: string): string {
  const letters = name
    .toWellFormed()
    .normalize("NFKD")
    .replace(/(\p{Script=Latin})\p{M}+/gu, "$1")
    .replace(/\p{Default_Ignorable_Code_Point}|['’`]/gu, "")
    .normalize("NFC")
    .toLowerCase();
  const words = letters.replace(/[^\p{L}\p{N}\p{M}]+/gu, "-").replace(/^[-\p{M}]+/u, "");
  const slug = [...words].slice(0, MAX_CHARS).join("").replace(/-+$/, "");
  if (slug === "") return WITHOUT_NAME;
  return WINDOWS_DEVICE.test(slug) || slug === SHARED_MEMORY ? `${WITHOUT_NAME}-${slug}` : slug;
}

/** The slug, or the slug with the first free number from 2 on. */
export function freeSlug(name: string, isTaken: (id: string) => boolean): string {
  const slug = slugOf(name);
  let id = slug;
  for (let number = 2; isTaken(id); number++) id = `${slug}-${number}`;
  return id;
}

/** The id that was asked for. Throws GOALD_CONFLICT when it is taken or could not have been given. */
export function requireFree(id: string, isTaken: (id: string) => boolean): string {
  if (slugOf(id) === id && !isTaken(id)) return id;
  throw new GoaldError(
    "GOALD_CONFLICT",
    `Expected ${JSON.stringify(id)} to be free as an agent's id here; it is not.`,
    {
      hint: "Use another home, or remove the agent of that name: goald rm",
    },
  );
}

/** Below `workspace/`; a child lives in its parent's folder. */
export const folderOf = (id: string, parentFolder: string | null): string =>
  parentFolder === null ? id : `${parentFolder}/agents/${id}`;
