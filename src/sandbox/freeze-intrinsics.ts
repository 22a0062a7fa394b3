/**
 * freeze-intrinsics.ts -- freezes the objects of JavaScript itself, so that code that reaches one of them changes none.
 *
 * Without it, a setter on `Object.prototype` could catch objects of Emscripten, such as its `mount`.
 */

const NAMES = [
  ...[
    "Object",
    "Function",
    "Array",
    "Map",
    "Set",
    "WeakMap",
    "WeakSet",
    "Promise",
    "RegExp",
    "Date",
    "Error",
    "TypeError",
  ],
  ...["RangeError", "String", "Number", "Boolean", "Symbol", "BigInt", "ArrayBuffer", "SharedArrayBuffer", "DataView"],
  ...[
    "Uint8Array",
    "Int8Array",
    "Uint16Array",
    "Int16Array",
    "Uint32Array",
    "Int32Array",
    "Float32Array",
    "Float64Array",
  ],
  ...["BigInt64Array", "BigUint64Array", "JSON", "Math", "Reflect", "Proxy", "Atomics", "WebAssembly", "TextDecoder"],
  ...["TextEncoder", "URL", "Buffer"],
];

export function freezeIntrinsics(): void {
  const done = new Set<object>();
  for (const name of NAMES) {
    const value: unknown = Reflect.get(globalThis, name);
    if (!isObject(value)) continue;
    if ("prototype" in value) freeze(value.prototype, done);
    freeze(value, done);
  }
  const typedArray: unknown = Object.getPrototypeOf(Uint8Array);
  if (isObject(typedArray) && "prototype" in typedArray) freeze(typedArray.prototype, done);
  freeze(typedArray, done);
  freeze(Object.getPrototypeOf([][Symbol.iterator]()), done);
  freeze(Object.getPrototypeOf((function* () {})()), done);
  freeze(
    Object.getPrototypeOf(async () => undefined),
    done,
  );
  const { Memory } = Reflect.get(globalThis, "WebAssembly") as { readonly Memory: { readonly prototype: object } };
  freeze(Memory.prototype, done);
}

const isObject = (value: unknown): value is object =>
  (typeof value === "object" && value !== null) || typeof value === "function";

function freeze(value: unknown, done: Set<object>): void {
  if (!isObject(value) || done.has(value)) return;
  done.add(value);
  if (isPrototype(value)) for (const key of Reflect.ownKeys(value)) makeShadowable(value, key);
  if (value === Error) freezeError();
  else Object.freeze(value);
}

/** Pyodide sets its limit of stack frames. */
function freezeError(): void {
  for (const key of Reflect.ownKeys(Error))
    if (key !== "stackTraceLimit") Reflect.defineProperty(Error, key, { writable: false, configurable: false });
  Object.preventExtensions(Error);
}

const isPrototype = (value: object): boolean =>
  (value as { constructor?: { prototype?: unknown } }).constructor?.prototype === value;

/** An object below may still have a property of this name. A frozen plain property would forbid the assignment. */
function makeShadowable(prototype: object, key: PropertyKey): void {
  const { configurable, enumerable = false, value, ...rest } = Reflect.getOwnPropertyDescriptor(prototype, key) ?? {};
  if (!configurable || !("writable" in rest)) return;
  Reflect.defineProperty(prototype, key, {
    configurable: false,
    enumerable,
    get: () => value,
    set(this: object, given: unknown) {
      if (this === prototype) throw new TypeError("It is frozen.");
      Reflect.defineProperty(this, key, { value: given, writable: true, enumerable: true, configurable: true });
    },
  });
}
