/** caches.ts -- small caches: the newest entries of a map, results by key or object, and that of a first call. */

/** Calls `make` at the first call, and returns its value at each. */
export function once<T>(make: () => T): () => T {
  let made: T | undefined;
  return () => {
    made ??= make();
    return made;
  };
}

/** Sets the entry as the newest one, and deletes the oldest when the map has more than `most`. */
export function keepNewest<Key, Value>(map: Map<Key, Value>, key: Key, value: Value, most: number): void {
  map.delete(key);
  map.set(key, value);
  if (map.size <= most) return;
  const [oldest] = map.keys();
  map.delete(oldest as Key);
}

/** Returns `make` with a cache that is emptied when it has the values of `most` keys. */
export function cacheByKey<Key, Value extends NonNullable<unknown> | null>(
  make: (key: Key) => Value,
  most: number,
): (key: Key) => Value {
  const cache = new Map<Key, Value>();
  return (key) => {
    const known = cache.get(key);
    if (known !== undefined) return known;
    const made = make(key);
    if (cache.size >= most) cache.clear();
    cache.set(key, made);
    return made;
  };
}

/**
 * Returns `make` with a cache for objects such as a message that the state keeps between steps: the same key object and
 * the same inputs give the same value. Keeps one value for each key, that of the last inputs, as long as the key lives.
 * Keys and inputs are compared by identity.
 */
export function rememberBy<Key extends object, Inputs extends readonly unknown[], Value>(
  make: (key: Key, ...inputs: Inputs) => Value,
): (key: Key, ...inputs: Inputs) => Value {
  const made = new WeakMap<Key, { readonly inputs: Inputs; readonly value: Value }>();
  return (key, ...inputs) => {
    const last = made.get(key);
    if (last && inputs.every((input, at) => input === last.inputs[at])) return last.value;
    const value = make(key, ...inputs);
    made.set(key, { inputs, value });
    return value;
  };
}
