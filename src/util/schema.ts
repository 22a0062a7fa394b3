/**
 * schema.ts -- builds JSON Schemas whose TypeScript type is read back with `Static`: one source for both. The shape of
 * TypeBox without its code: importing TypeBox 1.4.3 costs a host 85 to 100 ms of CPU and 25 MB (fastify costs 55 to 65
 * ms and 27 MB). The type exists at compile time only; the values are plain JSON Schema.
 */
import { createRequire } from "node:module";
import type { Options } from "ajv";
import type { Ajv2020 } from "ajv/dist/2020.js";

declare const VALUE: unique symbol;

export interface Schema<Value = unknown> {
  readonly [keyword: string]: unknown;
  /** Never set: carries the type. */
  readonly [VALUE]?: () => Value;
}

export interface ObjectSchema<Value = unknown> extends Schema<Value> {
  readonly type: "object";
  readonly required: readonly string[];
  readonly properties: Readonly<Record<string, Schema>>;
}

/** The type of the values that a schema accepts. */
export type Static<S extends Schema> = S extends { readonly [VALUE]?: () => infer Value } ? Value : never;

/** One schema for each member of a type that is declared elsewhere: the compiler reports a missing or wrong one. */
export type SchemasOf<Value> = { readonly [Name in keyof Value]-?: Schema<Exclude<Value[Name], undefined>> };

type Properties = Readonly<Record<string, Schema>>;
type Flat<T> = { readonly [Name in keyof T]: T[Name] };
type Members<P extends Properties, Optional extends keyof P> = Flat<
  { readonly [Name in Exclude<keyof P, Optional>]: Static<P[Name]> } & {
    readonly [Name in Optional]?: Static<P[Name]>;
  }
>;

/** An object that may have further members. Names in `optional` may be absent; all others are required. */
export const open = <P extends Properties, Optional extends keyof P & string = never>(
  properties: P,
  ...optional: readonly Optional[]
): ObjectSchema<Members<P, NoInfer<Optional>>> => ({
  type: "object",
  required: Object.keys(properties).filter((name) => !(optional as readonly string[]).includes(name)),
  properties,
});

/** An object that has no other members. */
export const closed = <P extends Properties, Optional extends keyof P & string = never>(
  properties: P,
  ...optional: readonly Optional[]
): ObjectSchema<Members<P, NoInfer<Optional>>> => ({ ...open(properties, ...optional), additionalProperties: false });

export const listOf = <Item>(
  items: Schema<Item>,
  limits: { readonly minItems?: number; readonly maxItems?: number } = {},
): Schema<readonly Item[]> => ({ type: "array", ...limits, items });

export const recordOf = <Value>(value: Schema<Value>): Schema<Readonly<Record<string, Value>>> => ({
  type: "object",
  additionalProperties: value,
});

export const oneOf = <const Values extends readonly string[]>(...values: Values): Schema<Values[number]> => ({
  type: "string",
  enum: values,
});

export const anyOf = <Schemas extends readonly Schema[]>(...schemas: Schemas): Schema<Static<Schemas[number]>> => ({
  anyOf: schemas,
});

/** A union of objects, each of which has its own values of the member `tag`. */
export const tagged = <Schemas extends readonly Schema[]>(
  tag: string,
  ...schemas: Schemas
): Schema<Static<Schemas[number]>> => ({ type: "object", oneOf: schemas, discriminator: { propertyName: tag } });

/** Keeps the keywords in one schema where it has one type: some readers of OpenAPI do not unite `anyOf`. */
export function nullable<Value>(schema: Schema<Value>): Schema<Value | null> {
  if (typeof schema.type !== "string") return { anyOf: [schema, { type: "null" }] };
  const choices = Array.isArray(schema.enum) ? { enum: [...schema.enum, null] } : {};
  return { ...schema, ...choices, type: [schema.type, "null"] };
}

export const described = <S extends Schema>(schema: S, description: string): S => ({ ...schema, description });

/** For a type that JSON Schema cannot express, or that is declared in core. */
export const typed = <Value>(schema: Schema): Schema<Value> => schema as Schema<Value>;

export const text: Schema<string> = { type: "string" };
export const flag: Schema<boolean> = { type: "boolean" };
export const count: Schema<number> = { type: "integer", minimum: 0 };
export const ordinal: Schema<number> = { type: "integer", minimum: 1 };
export const amount: Schema<number> = { type: "number", minimum: 0 };
/** ISO 8601 in UTC. */
export const time: Schema<string> = { type: "string", format: "date-time" };

/** Creates a validator of JSON Schema 2020-12. ajv has 63 modules, so the first validator loads it. */
export function createAjv(options: Options): Ajv2020 {
  const ajv = createRequire(import.meta.url)("ajv/dist/2020.js") as typeof import("ajv/dist/2020.js");
  return new ajv.Ajv2020(options);
}
