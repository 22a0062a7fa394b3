/**
 * strict-schema.ts -- a schema of what OpenAI accepts as `response_format`: in strict mode every object is closed,
 * every key is required, and only known keywords are allowed.
 */
const anySchema = { $ref: "#/properties/response_format/$defs/any" } as const;

export const RESPONSE_FORMAT = {
  $defs: {
    any: {
      type: "object",
      additionalProperties: false,
      properties: {
        type: {
          anyOf: [
            { $ref: "#/properties/response_format/$defs/type" },
            { type: "array", items: { $ref: "#/properties/response_format/$defs/type" } },
          ],
        },
        description: { type: "string" },
        enum: { type: "array", minItems: 1 },
        items: anySchema,
        properties: { type: "object", additionalProperties: anySchema },
        required: { type: "array", items: { type: "string" } },
        additionalProperties: { const: false },
        anyOf: { type: "array", minItems: 1, items: anySchema },
      },
      if: { required: ["type"], properties: { type: { const: "object" } } },
      // biome-ignore lint/suspicious/noThenProperty: a keyword of JSON Schema.
      then: { required: ["properties", "required", "additionalProperties"] },
    },
    type: { enum: ["object", "array", "string", "integer", "number", "boolean", "null"] },
  },
  type: "object",
  required: ["type"],
  oneOf: [
    { additionalProperties: false, properties: { type: { enum: ["json_object", "text"] } } },
    {
      additionalProperties: false,
      required: ["json_schema"],
      properties: {
        type: { const: "json_schema" },
        json_schema: {
          type: "object",
          additionalProperties: false,
          required: ["name", "strict", "schema"],
          properties: {
            name: { type: "string", pattern: "^[A-Za-z0-9_-]{1,64}$" },
            strict: { type: "boolean" },
            schema: { required: ["type"], properties: { type: { const: "object" } } },
          },
          if: { properties: { strict: { const: true } } },
          // biome-ignore lint/suspicious/noThenProperty: a keyword of JSON Schema.
          then: { properties: { schema: anySchema } },
        },
      },
    },
  ],
} as const;

const strictParameters = { $ref: "#/properties/response_format/$defs/any" } as const;
/** What OpenAI accepts as `tools`, in a request whose schema has `RESPONSE_FORMAT` too. */
export const TOOLS = {
  type: "array",
  minItems: 1,
  maxItems: 128,
  items: {
    type: "object",
    additionalProperties: false,
    required: ["type", "function"],
    properties: {
      type: { const: "function" },
      function: {
        type: "object",
        additionalProperties: false,
        required: ["name", "parameters"],
        properties: {
          name: { type: "string", pattern: "^[A-Za-z0-9_-]{1,64}$" },
          description: { type: "string" },
          strict: { type: "boolean" },
          parameters: { required: ["type"], properties: { type: { const: "object" } } },
        },
        if: { required: ["strict"], properties: { strict: { const: true } } },
        // biome-ignore lint/suspicious/noThenProperty: a keyword of JSON Schema.
        then: { properties: { parameters: strictParameters } },
      },
    },
  },
} as const;
