/** named-files.ts -- which files a text speaks of. Pure. */

/** Of the files, those whose path or name stands in a text by itself. Bounded: a folder of many files is not read for each. */
export function namedIn(text: string, paths: readonly string[]): readonly string[] {
  const lower = text.toLowerCase();
  const stands = (name: string): boolean => {
    for (let at = lower.indexOf(name); at >= 0; at = lower.indexOf(name, at + 1))
      if (
        !/[\w-]/.test(lower[at - 1] ?? " ") &&
        !/^(?:[\w-]|\.\w)/.test(lower.slice(at + name.length, at + name.length + 2))
      )
        return true;
    return false;
  };
  return paths
    .slice(0, MAX_NAMED_OF)
    .filter((path) => {
      const name = path.slice(path.lastIndexOf("/") + 1).toLowerCase();
      return name.length >= MIN_NAME_CHARS && lower.includes(name) && stands(name);
    })
    .slice(0, MAX_NAMED);
}

const MAX_NAMED_OF = 5_000;
const MAX_NAMED = 20;
const MIN_NAME_CHARS = 3;
