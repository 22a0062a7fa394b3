/**
 * aliases.ts -- resolves names that models use for commands and arguments.
 *
 * The tables are in config/aliases.json. Names are compared by their words: `WriteToFile`, `write-to-file` and
 * `"write_to_file"()` are equal. Similar names are never run: a problem sentence lists them for the model.
 */
import { editDistance } from "#util/nearest-name.ts";

export interface Aliases {
  /** Command name by alias. */
  readonly commands: Readonly<Record<string, string>>;
  /** Aliases by argument name. */
  readonly args: Readonly<Record<string, readonly string[]>>;
}

const MAX_NAME_CHARS = 80;

/** Returns the name in `names` that `written` means, or null. */
export function findCommandName(written: string, names: ReadonlySet<string>, aliases: Aliases): string | null {
  if (written.length > MAX_NAME_CHARS) return null;
  const bare = written.trim();
  if (names.has(bare)) return bare;
  const name = normalizeName(bare);
  if (name === null) return null;
  if (names.has(name)) return name;
  const meant = Object.hasOwn(aliases.commands, name) ? (aliases.commands[name] as string) : null;
  return meant !== null && names.has(meant) ? meant : null;
}

/** Returns the name in `names` that `written` means, else `written`. */
export function findArgumentName(written: string, names: readonly string[], aliases: Aliases): string {
  if (names.includes(written) || written.length > MAX_NAME_CHARS) return written;
  const name = normalizeName(written);
  if (name === null) return written;
  if (names.includes(name)) return name;
  return (
    names.find((candidate) => Object.hasOwn(aliases.args, candidate) && aliases.args[candidate]?.includes(name)) ??
    written
  );
}

/** Returns lower-case words joined by `_`; null for text that is not one name, such as a shell line. */
function normalizeName(written: string): string | null {
  const bare = written
    .trim()
    .replace(/^["'`]+|["'`]+$/g, "")
    .replace(/\(\)$/, "")
    .replaceAll("\\_", "_")
    .replace(/^functions\./, "")
    .trim();
  if (!/^[A-Za-z_][A-Za-z0-9_\- ()]*$/.test(bare)) return null;
  return bare
    .replace(/([a-z0-9])([A-Z])/g, "$1_$2")
    .toLowerCase()
    .replace(/[\s\-()_]+/g, "_")
    .replace(/_$/, "");
}

/** Ranks names that share words with `written` or differ by few letters, best first. */
export function rankNearestNames(written: string, names: Iterable<string>, count: number): readonly string[] {
  const target = normalizeName(written.slice(0, MAX_NAME_CHARS)) ?? written.slice(0, MAX_NAME_CHARS).toLowerCase();
  const targetWords = new Set(target.split("_").filter((word) => word.length > 2));
  const ranked = [...names].map((name) => {
    const shared = name.split("_").filter((word) => targetWords.has(word)).length;
    return { name, distance: editDistance(target, name) - 3 * shared };
  });
  return ranked
    .sort((a, b) => a.distance - b.distance || (a.name < b.name ? -1 : 1))
    .slice(0, count)
    .map(({ name }) => name);
}
