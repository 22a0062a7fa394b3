/** nearest-name.ts -- finds the known name that a person probably meant by a mistyped one. */

/** Compares by edit distance and ignores case; undefined when even the nearest name shares no letter or differs too much. */
export function nearestName(typed: string, known: readonly string[]): string | undefined {
  const start = typed.slice(0, 100).toLowerCase();
  const measured = known.map((name) => ({ name, distance: editDistance(start, name.toLowerCase()) }));
  const best = measured.sort((a, b) => a.distance - b.distance)[0];
  return best && best.distance <= Math.max(Math.min(2, start.length - 1), start.length / 3) ? best.name : undefined;
}

/**
 * Counts the insertions, deletions, replacements and swaps of neighbours that turn `a` into `b`, one row of the matrix at
 * a time.
 */
export function editDistance(a: string, b: string): number {
  let above: number[] = [];
  let row = Array.from({ length: b.length + 1 }, (_, column) => column);
  for (let i = 0; i < a.length; i++) {
    const next = [i + 1];
    for (let j = 0; j < b.length; j++) {
      const replaced = (row[j] ?? 0) + (a[i] === b[j] ? 0 : 1);
      const swapped = i > 0 && a[i] === b[j - 1] && a[i - 1] === b[j] ? (above[j - 1] ?? 0) + 1 : replaced;
      next.push(Math.min(replaced, swapped, (row[j + 1] ?? 0) + 1, (next[j] ?? 0) + 1));
    }
    [above, row] = [row, next];
  }
  return row[b.length] ?? 0;
}
