/**
 * javascript-values.ts -- values of code as text for the model, as JSON for commands, and as JSON that keeps them.
 *
 * All functions run inside QuickJS, by their source text: they may use nothing but each other and what QuickJS has. `intrinsics`
 * holds the parts that code might replace.
 */

/** Why a value cannot be kept. */
export interface Unkept {
  readonly unkept: string;
}

export function captureIntrinsics() {
  return {
    stringify: JSON.stringify,
    parse: JSON.parse,
    prototypeOf: Object.getPrototypeOf,
    describe: Object.getOwnPropertyDescriptor,
    namesOf: Object.getOwnPropertyNames,
    keysOf: Object.keys,
    isArray: Array.isArray,
    tagOf: Function.prototype.call.bind(Object.prototype.toString) as (value: unknown) => string,
    sourceOf: Function.prototype.call.bind(Function.prototype.toString) as (value: unknown) => string,
    ownDate: Date,
    ownMap: Map,
    ownSet: Set,
    ownRegExp: RegExp,
    plain: Object.prototype,
  };
}
const intrinsics = captureIntrinsics();

/** JSON that `decodeValue` reads; throws an `Unkept` for a value that cannot be kept. */
export function encodeValue(value: unknown, around: readonly unknown[] = []): unknown {
  const unkept = (reason: string): Unkept => ({ unkept: reason });
  const tag = (name: string, content: unknown): unknown => ({ $: name, v: content });
  if (value === null || typeof value === "string" || typeof value === "boolean") return value;
  if (value === undefined) return tag("undefined", null);
  if (typeof value === "number")
    return value - value === 0 && !(value === 0 && 1 / value < 0)
      ? value
      : tag("number", value === 0 ? "-0" : `${value}`);
  if (typeof value === "bigint") return tag("bigint", `${value}`);
  if (typeof value === "function") throw unkept("a function inside a value cannot be kept");
  if (typeof value === "symbol") throw unkept("a symbol cannot be kept");
  if (around.includes(value)) throw unkept("an object that contains itself cannot be kept");
  if (around.length > 100) throw unkept("it is nested too deeply");
  const inner = [...around, value];
  const encode = (item: unknown): unknown => encodeValue(item, inner);
  const proto: unknown = intrinsics.prototypeOf(value);
  if (intrinsics.isArray(value)) return Array.from(value, encode);
  if (proto === intrinsics.ownMap.prototype) return tag("map", Array.from(value as Map<unknown, unknown>, encode));
  if (proto === intrinsics.ownSet.prototype) return tag("set", Array.from(value as Set<unknown>, encode));
  if (proto === intrinsics.ownDate.prototype) return tag("date", Number(value));
  if (proto === intrinsics.ownRegExp.prototype)
    return tag("regexp", [(value as RegExp).source, (value as RegExp).flags]);
  if (proto !== intrinsics.plain && proto !== null) {
    const { name } = Object((proto as { constructor?: unknown }).constructor) as { readonly name?: unknown };
    throw unkept(`an object of the type ${String(name || intrinsics.tagOf(value).slice(8, -1))} cannot be kept`);
  }
  const entries = intrinsics.keysOf(value).map((key) => {
    const described = intrinsics.describe(value, key);
    if (!described || !("value" in described)) throw unkept("a computed property cannot be kept");
    return [key, encode(described.value)];
  });
  return "$" in (value as object) ? tag("object", entries) : Object.fromEntries(entries);
}

export function decodeValue(encoded: unknown): unknown {
  if (typeof encoded !== "object" || encoded === null) return encoded;
  if (intrinsics.isArray(encoded)) return encoded.map(decodeValue);
  const { $: name, v: content } = encoded as { readonly $?: string; readonly v?: unknown };
  const entries = (): [string, unknown][] => decodeValue(content) as [string, unknown][];
  switch (name) {
    case undefined:
      return Object.fromEntries(intrinsics.keysOf(encoded).map((key) => [key, decodeValue(Reflect.get(encoded, key))]));
    case "undefined":
      return undefined;
    case "number":
      return Number(content);
    case "bigint":
      return BigInt(content as string);
    case "map":
      return new intrinsics.ownMap(entries());
    case "set":
      return new intrinsics.ownSet(decodeValue(content) as unknown[]);
    case "date":
      return new intrinsics.ownDate(content === null ? Number.NaN : (content as number));
    case "regexp":
      return new intrinsics.ownRegExp(...(content as [string, string]));
    default:
      return Object.fromEntries(entries());
  }
}

/** As the model reads it: a text as it is, what JSON can say as JSON. Stops at about `limit` characters. */
export function showValue(value: unknown, limit: number): string {
  if (typeof value === "string") return value;
  const around: unknown[] = [];
  let room = limit;
  const take = (text: string): string => {
    room -= text.length;
    return text;
  };
  const list = <Item>(items: readonly Item[], show: (item: Item) => string): string => {
    const parts: string[] = [];
    for (const item of items) {
      if (room <= 0) return [...parts, "…"].join(",");
      parts.push(show(item));
    }
    return parts.join(",");
  };
  const showObject = (item: object): string => {
    const proto: unknown = intrinsics.prototypeOf(item);
    if (intrinsics.isArray(item)) return `[${list(item, show)}]`;
    if (Error.isError(item)) return take(`${item.name}: ${item.message}`);
    if (item instanceof intrinsics.ownDate) return take(intrinsics.stringify(item) ?? "Invalid Date");
    if (item instanceof intrinsics.ownRegExp) return take(String(item));
    const pair = (given: unknown): string => list(given as unknown[], show).replace(",", " => ");
    if (proto === intrinsics.ownMap.prototype) return `Map {${list([...(item as Map<unknown, unknown>)], pair)}}`;
    if (proto === intrinsics.ownSet.prototype) return `Set {${list([...(item as Set<unknown>)], show)}}`;
    const name = proto === intrinsics.plain || proto === null ? "" : `${item.constructor?.name ?? "Object"} `;
    const member = (key: string): string => `${take(intrinsics.stringify(key))}:${show(Reflect.get(item, key))}`;
    return `${name}{${list(intrinsics.keysOf(item), member)}}`;
  };
  const show = (item: unknown): string => {
    if (typeof item === "string") return take(intrinsics.stringify(item));
    if (typeof item === "bigint") return take(`${item}n`);
    if (typeof item === "function") return take(`[Function ${item.name}]`);
    if (typeof item !== "object" || item === null) return take(String(item));
    if (around.includes(item) || around.length > 20) return take("[…]");
    around.push(item);
    const text = showObject(item);
    around.pop();
    return text;
  };
  return show(value);
}

/** JSON of a value that JSON can say; undefined for any other. */
export function jsonOf(value: unknown, limit: number): string | undefined {
  if (value instanceof intrinsics.ownMap || value instanceof intrinsics.ownSet) return undefined;
  if (typeof value === "number" && value - value !== 0) return undefined;
  try {
    const json = intrinsics.stringify(value);
    return json !== undefined && json.length <= limit ? json : undefined;
  } catch {
    return undefined;
  }
}

/** JSON Schema of what `agent.run` returns: given as a schema, a type such as `Number`, or a sample such as `[""]`. */
export function schemaOf(given: unknown): Record<string, unknown> {
  const types = ["string", "number", "integer", "boolean", "array", "object", "null"];
  const named = new Map<unknown, string>([
    [String, "string"],
    [Number, "number"],
    [Boolean, "boolean"],
    [Array, "array"],
    [Object, "object"],
  ]).get(given);
  if (named) return { type: named };
  if (typeof given === "string") return { type: types.includes(given) ? given : "string" };
  if (given === undefined || typeof given === "function") return { type: "string" };
  if (intrinsics.isArray(given))
    return given.length > 0 ? { type: "array", items: schemaOf(given[0]) } : { type: "array" };
  if (typeof given !== "object" || given === null) return { type: given === null ? "null" : typeof given };
  const { type } = given as { readonly type?: unknown };
  const isType = (one: unknown): boolean => types.includes(one as string);
  const keywords = ["$schema", "$ref", "anyOf", "oneOf", "allOf", "enum", "const"];
  if (isType(type) || (intrinsics.isArray(type) && type.every(isType)) || keywords.some((word) => word in given))
    return given as Record<string, unknown>;
  const keys = intrinsics.keysOf(given);
  const properties = Object.fromEntries(keys.map((key) => [key, schemaOf(Reflect.get(given, key))]));
  return { type: "object", properties, required: keys };
}

/** The source text of these functions, for QuickJS. */
export const VALUES_SOURCE = [
  ...[captureIntrinsics, encodeValue, decodeValue, showValue, jsonOf, schemaOf].map(String),
  "const intrinsics = captureIntrinsics();",
].join("\n");
