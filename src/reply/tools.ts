/** tools.ts -- writes commands as native tools, each with a thought as its first parameter. */
import type { ArgsSchema, JsonSchema } from "#core/command.ts";
import type { Tool } from "#core/ports/model.ts";
import { toStrictSchema } from "./strict-schema.ts";

/** Models that must call a tool rarely write text beside the call. The reader takes the thought out of the arguments. */
export const THOUGHT = "thought";
const THOUGHT_SCHEMA: JsonSchema = {
  type: "string",
  description: "one sentence for the person who looks on: what you do and why",
};

interface ToolCommand {
  readonly name: string;
  readonly summary: string;
  readonly args: ArgsSchema;
}

export const buildTools = (commands: readonly ToolCommand[]): readonly Tool[] =>
  commands.map(({ name, summary, args }) => {
    const { properties, required = [] } = args;
    const hasOwn = Object.hasOwn(properties, THOUGHT);
    const added = hasOwn
      ? args
      : { ...args, properties: { [THOUGHT]: THOUGHT_SCHEMA, ...properties }, required: [THOUGHT, ...required] };
    const strict = toStrictSchema(added);
    return { name, description: summary, parameters: strict ?? added, isStrict: strict !== null };
  });
