/** named-files.ts -- finds the files that a text mentions. Pure. */

/** The paths whose file name appears in the text as a whole word. Bounded in files looked at and returned. */
export function findNamedFiles(text: string, paths: readonly string[]): readonly string[] {
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
