/** remember-by.ts -- computes a value once for each object, such as a message that the state keeps between steps. */

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
