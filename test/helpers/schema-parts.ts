/** schema-parts.ts -- parts of the JSON schemas of goald's output. */
export const string = { type: "string" } as const;
export const bool = { type: "boolean" } as const;
export const count = { type: "integer", minimum: 0 } as const;
export const positive = { type: "integer", minimum: 1 } as const;
export const time = { type: "string", pattern: "^\\d{4}-\\d\\d-\\d\\dT\\d\\d:\\d\\d:\\d\\d\\.\\d{3}Z$" } as const;
export const strings = { type: "array", items: string } as const;

export type Properties = Readonly<Record<string, object>>;

/** Returns a schema of an object with exactly these properties. */
export function closed(required: Properties, optional: Properties = {}) {
  const properties = { ...required, ...optional };
  return { type: "object", additionalProperties: false, required: Object.keys(required), properties } as const;
}
