/**
 * reply-schema.ts -- builds the JSON schema of a reply for servers with strict output (OpenAI's subset).
 *
 * The schema has the shape that the prompt shows, so that a grammar never forces a model away from its instructions.
 * Each branch begins with `name`, which allows one value: strict servers tell branches apart by their first key. Every
 * key is required; optional arguments are nullable. The schema has only types, enums, items and descriptions, since each
 * further keyword makes more servers refuse the schema.
 */
import type { ArgsSchema, PropertySchema } from "#core/command.ts";

interface SchemaCommand {
  readonly name: string;
  readonly summary: string;
  readonly args: ArgsSchema;
}

const text = { type: "string" } as const;

export function buildReplySchema(commands: readonly SchemaCommand[]): object {
  const thoughts = { text, reasoning: text, plan: text, criticism: text, speak: text };
  const branches = commands.map(({ name, summary, args }) => ({
    ...closeObject({ name: { type: "string", enum: [name] }, args: buildArgsSchema(args) }),
    description: summary,
  }));
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
  readonly description: string;
  readonly enum?: readonly (string | null)[];
  readonly items?: object;
}

function buildValueSchema(property: PropertySchema): ReplyValueSchema {
  const { type, description } = property;
  if (type === "array") return { type, description, items: text };
  if (type === "string" && property.enum) return { type, description, enum: property.enum };
  return { type, description };
}

const makeNullable = ({ type, enum: values, ...rest }: ReplyValueSchema): object => ({
  ...rest,
  type: [type, "null"],
  ...(values ? { enum: [...values, null] } : {}),
});
