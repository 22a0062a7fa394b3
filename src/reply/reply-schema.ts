/**
 * reply-schema.ts -- builds the JSON schema of a reply, in the subset of strict servers where that is possible.
 *
 * The schema has the shape that the prompt shows, so that a grammar never forces a model away from its instructions.
 * Each branch begins with `name`, which allows one value: strict servers tell branches apart by their first key.
 */
import type { ArgsSchema } from "#core/command.ts";
import type { ReplySchema } from "#core/ports/model.ts";
import { toStrictSchema } from "./strict-schema.ts";

interface SchemaCommand {
  readonly name: string;
  readonly summary: string;
  readonly args: ArgsSchema;
}

const text = { type: "string" } as const;

/** One command that strict servers cannot take makes the whole schema an unstrict one. */
export function buildReplySchema(commands: readonly SchemaCommand[]): ReplySchema {
  const thoughts = { text, reasoning: text, plan: text, criticism: text, speak: text };
  const loose: Record<string, unknown> = {};
  const branches = commands.map(({ name, summary, args }) => {
    const strict = toStrictSchema(args);
    if (!strict) loose[name] = moveReferences(args, `#/$defs/${name}`);
    const schema = strict ?? { $ref: `#/$defs/${name}` };
    return { ...closeObject({ name: { type: "string", enum: [name] }, args: schema }), description: summary };
  });
  const schema = closeObject({ thoughts: closeObject(thoughts), command: { anyOf: branches } });
  const isStrict = Object.keys(loose).length === 0;
  return { schema: isStrict ? schema : { ...schema, $defs: loose }, isStrict };
}

/** Local references count from the root of the whole schema. */
function moveReferences(value: unknown, root: string): unknown {
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return value.map((item) => moveReferences(item, root));
  const entries = Object.entries(value).map(([key, item]) =>
    key === "$ref" && typeof item === "string" ? [key, root + item.slice(1)] : [key, moveReferences(item, root)],
  );
  return Object.fromEntries(entries);
}

const closeObject = (properties: Readonly<Record<string, object>>): object => ({
  type: "object",
  properties,
  required: Object.keys(properties),
  additionalProperties: false,
});
