/**
 * aliases.ts -- names that models use, and the names that they stand for.
 *
 * The tables are data (config/aliases.json). A name is compared by its words, so
 * `WriteToFile`, `write-to-file` and `"write_to_file"()` are one; but it is never matched
 * by likeness: a typo is named back to the model with what comes near, not run.
 */

export interface Aliases {
  /** Command name by alias. */
  readonly commands: Readonly<Record<string, string>>;
  /** Aliases by argument name. */
  readonly args: Readonly<Record<string, readonly string[]>>;
}

const MAX_NAME_CHARS = 80;

/** The command that `written` stands for among `names`, or null. */
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

/** The argument that `written` stands for among `names`, or `written` itself. */
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

/** Lower-case words joined by `_`; null for what is no name, such as two of them or a shell line. */
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

/** The names nearest to `written`, best first: those that share a word or differ by a few letters. */
export function rankNearestNames(written: string, names: Iterable<string>, count: number): readonly string[] {
  const target = normalizeName(written.slice(0, MAX_NAME_CHARS)) ?? written.slice(0, MAX_NAME_CHARS).toLowerCase();
  const targetWords = new Set(target.split("_").filter((word) => word.length > 2));
  const ranked = [...names].map((name) => {
    const shared = name.split("_").filter((word) => targetWords.has(word)).length;
    return { name, distance: measureEditDistance(target, name) - 3 * shared };
  });
  return ranked
    .sort((a, b) => a.distance - b.distance || (a.name < b.name ? -1 : 1))
    .slice(0, count)
    .map(({ name }) => name);
}

/** Levenshtein's distance, one row at a time. */
function measureEditDistance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++) {
      const replaced = (row[j - 1] as number) + (a[i - 1] === b[j - 1] ? 0 : 1);
      next.push(Math.min(replaced, (row[j] as number) + 1, (next[j - 1] as number) + 1));
    }
    row = next;
  }
  return row[b.length] as number;
}
