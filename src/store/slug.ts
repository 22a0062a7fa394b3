/**
 * slug.ts -- derives an agent's id, which is also the name of its folder, from its name.
 *
 * An id is easy to type, cannot be an option, a hidden file, a path or a Windows device, and differs from other ids on file
 * systems that ignore case.
 */
import { conflict } from "#core/errors.ts";
import { SHARED_MEMORY } from "#core/memory.ts";
import { slugWords } from "#core/text.ts";

/** In code points: with four bytes each and a number appended, shorter than the 255 bytes of a file name. */
const MAX_CHARS = 48;
const WINDOWS_DEVICE = /^(?:con|prn|aux|nul|conin|conout|clock|com\d|lpt\d)$/;
const WITHOUT_NAME = "agent";

export function slugOf(name: string): string {
  const slug = slugWords(name, MAX_CHARS);
  if (slug === "") return WITHOUT_NAME;
  return WINDOWS_DEVICE.test(slug) || slug === SHARED_MEMORY ? `${WITHOUT_NAME}-${slug}` : slug;
}

/** Returns the slug, or the slug with the first free number from 2. */
export function freeSlug(name: string, isTaken: (id: string) => boolean): string {
  const slug = slugOf(name);
  let id = slug;
  for (let number = 2; isTaken(id); number++) id = `${slug}-${number}`;
  return id;
}

/** Returns the id. Throws GOALD_CONFLICT when it is taken or is not a slug. */
export function requireFree(id: string, isTaken: (id: string) => boolean): string {
  if (slugOf(id) === id && !isTaken(id)) return id;
  throw conflict(
    `Expected ${JSON.stringify(id)} as a free agent's id in this home; it is taken or not valid.`,
    "Use another home, or remove the agent of that name: goald rm",
  );
}
