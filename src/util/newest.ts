/** newest.ts -- bounds a map that is used as a cache. */

/** Sets the entry as the newest one, and deletes the oldest when the map has more than `most`. */
export function keepNewest<Key, Value>(map: Map<Key, Value>, key: Key, value: Value, most: number): void {
  map.delete(key);
  map.set(key, value);
  if (map.size <= most) return;
  const [oldest] = map.keys();
  map.delete(oldest as Key);
}
