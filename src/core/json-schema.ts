/** json-schema.ts -- reads the parts of a JSON Schema that goald acts on itself. Pure. */
import type { JsonSchema, JsonType } from "./command.ts";

const MAX_REFERENCES = 16;

/** Follows local references such as `#/$defs/point`. Returns an empty schema for one that leads nowhere. */
export function followReference(schema: JsonSchema, root: JsonSchema): JsonSchema {
  let followed = schema;
  for (let count = 0; typeof followed.$ref === "string"; count++) {
    const next = count < MAX_REFERENCES ? findReferenced(followed.$ref, root) : undefined;
    if (!next) return {};
    // Keywords beside a reference apply too; a description there is the more specific one.
    const { $ref: _, ...beside } = followed;
    followed = { ...next, ...beside };
  }
  return followed;
}

/** Returns the schema that a local reference names; undefined for another reference. */
export function findReferenced(reference: string, root: JsonSchema): JsonSchema | undefined {
  if (reference === "#") return root;
  if (!reference.startsWith("#/")) return undefined;
  let value: unknown = root;
  for (const part of reference.slice(2).split("/")) {
    const key = decodePointer(part);
    if (typeof value !== "object" || value === null || !Object.hasOwn(value, key)) return undefined;
    value = (value as Readonly<Record<string, unknown>>)[key];
  }
  return isSchema(value) ? value : undefined;
}

/** Decodes one part of a JSON Pointer. */
export function decodePointer(part: string): string {
  const plain = part.replaceAll("~1", "/").replaceAll("~0", "~");
  try {
    return decodeURIComponent(plain);
  } catch {
    return plain;
  }
}

export const isSchema = (value: unknown): value is JsonSchema =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** The types that a schema names; none when any type is allowed. */
export const typesOf = ({ type }: JsonSchema): readonly JsonType[] =>
  type === undefined ? [] : typeof type === "string" ? [type] : type;
