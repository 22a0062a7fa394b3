/** newest.ts -- maps that keep what came last: memories of answers that may be made again. */

/** Puts it last into the map, and lets the oldest go when there are more than `most`. */
export function keepNewest<Key, Value>(map: Map<Key, Value>, key: Key, value: Value, most: number): void {
  map.delete(key);
  map.set(key, value);
  if (map.size <= most) return;
  const [oldest] = map.keys();
  map.delete(oldest as Key);
}
