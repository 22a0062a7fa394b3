/**
 * reply-schema.ts -- builds the JSON schema of a reply for servers with strict output (OpenAI's subset).
 *
 * Each command is an object with its name as the only key: strict servers require that no two branches begin with the
 * same key, and the reply reader accepts this shape. Every key is required; optional arguments are nullable. The schema has
 * only types, enums and items, since each further keyword makes more servers refuse the schema.
 */
import type { ArgsSchema, PropertySchema } from "#core/command.ts";

interface SchemaCommand {
  readonly name: string;
  readonly args: ArgsSchema;
}

const text = { type: "string" } as const;

export function buildReplySchema(commands: readonly SchemaCommand[]): object {
  const thoughts = { text, reasoning: text, plan: text, criticism: text, speak: text };
  const branches = commands.map(({ name, args }) => closeObject({ [name]: buildArgsSchema(args) }));
  return closeObject({ thoughts: closeObject(thoughts), command: { anyOf: branches } });
}

const closeObject = (properties: Readonly<Record<string, object>>): object => ({
  type: "object",
  properties,
  required: Object.keys(properties),
  additionalProperties: false,
});

function buildArgsSchema({ properties, required = [] }: ArgsSchema): object {
  const entries = Object.entries(properties).map(([name, property]) => {
    const schema = buildValueSchema(property);
    return [name, required.includes(name) ? schema : makeNullable(schema)] as const;
  });
  return closeObject(Object.fromEntries(entries));
}

interface ReplyValueSchema {
  readonly type: string;
  readonly enum?: readonly (string | null)[];
  readonly items?: object;
}

function buildValueSchema(property: PropertySchema): ReplyValueSchema {
  if (property.type === "array") return { type: "array", items: text };
  if (property.type === "string" && property.enum) return { type: "string", enum: property.enum };
  return { type: property.type };
}

const makeNullable = ({ type, enum: values, ...rest }: ReplyValueSchema): object => ({
  ...rest,
  type: [type, "null"],
  ...(values ? { enum: [...values, null] } : {}),
});
