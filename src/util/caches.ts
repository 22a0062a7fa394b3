/** caches.ts -- small caches: the newest entries of a map, and a result kept for each object. */

/** Sets the entry as the newest one, and deletes the oldest when the map has more than `most`. */
export function keepNewest<Key, Value>(map: Map<Key, Value>, key: Key, value: Value, most: number): void {
  map.delete(key);
  map.set(key, value);
  if (map.size <= most) return;
  const [oldest] = map.keys();
  map.delete(oldest as Key);
}

// Computes a value once for each object, such as a message that the state keeps between steps.

/**
 * Returns `make` with a cache: the same key object and the same inputs give the same value. Keeps one value for each key, that of
 * the last inputs, as long as the key lives. Keys and inputs are compared by identity.
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
