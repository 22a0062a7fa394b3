/**
 * describe-args.ts -- renders the arguments of a command for the prompt, as a model must write them.
 *
 * A description in angle brackets stands for each value: text in quotes, numbers without, lists and objects in
 * brackets. A schema that would take too much room is rendered again with fewer levels.
 */
import { type ArgsSchema, followReference, type JsonSchema, typesOf } from "#core/command.ts";
import { oneLine } from "#core/text.ts";

const MAX_DESCRIPTION_CHARS = 200;
const MAX_LEVELS = 4;
/** Per command, unless its outermost level alone is longer. */
const MAX_CHARS = 2_000;
const MAX_ALTERNATIVES = 3;

/** Renders `"file": "<path>", optional "first_line": <from 1>`. */
export function describeMembers(args: ArgsSchema): string {
  for (let levels = MAX_LEVELS; levels > 1; levels--) {
    const text = listMembers(args, args, levels);
    if (text.length <= MAX_CHARS) return text;
  }
  return listMembers(args, args, 1);
}

function listMembers({ properties = {}, required = [] }: JsonSchema, root: JsonSchema, levels: number): string {
  const render = (isNeeded: boolean): string =>
    Object.entries(properties)
      .filter(([name]) => required.includes(name) === isNeeded)
      .map(([name, schema]) => `"${name}": ${describeValue(name, schema, root, levels)}`)
      .join(", ");
  const optional = render(false);
  return [render(true), optional === "" ? "" : `optional ${optional}`].filter((part) => part !== "").join(", ");
}

function describeValue(name: string, schema: JsonSchema, root: JsonSchema, levels: number): string {
  const followed = followReference(schema, root);
  const alternatives = (followed.anyOf ?? followed.oneOf ?? []).filter((each) => typesOf(each).join() !== "null");
  if (alternatives.length > 0 && levels > 1)
    return alternatives
      .slice(0, MAX_ALTERNATIVES)
      .map((each) => describeValue(name, { description: followed.description ?? name, ...each }, root, levels - 1))
      .join(" or ");
  const choices = followed.const === undefined ? followed.enum : [followed.const];
  if (choices) return describeChoices(followed.description, choices);
  const [type] = typesOf(followed);
  const { items, properties, description = name } = followed;
  if (type === "array" && levels > 1)
    return `[${describeValue(name, { description, ...(typeof items === "object" ? items : {}) }, root, levels - 1)}]`;
  if (type === "object" && properties && Object.keys(properties).length > 0 && levels > 1)
    return `{${listMembers(followed, root, levels - 1)}}`;
  const words = `<${oneLine(description, MAX_DESCRIPTION_CHARS)}>`;
  return type === "string" ? `"${words}"` : type === "array" ? `[${words}]` : type === "object" ? `{${words}}` : words;
}

/** Texts in quotes as one, such as `"<one of: x|y>"`. */
function describeChoices(description: string | undefined, choices: readonly unknown[]): string {
  const isText = choices.every((choice) => typeof choice === "string");
  const list = oneLine(choices.map((choice) => (isText ? String(choice) : JSON.stringify(choice))).join("|"), 400);
  const words = `<${description === undefined ? "" : `${oneLine(description, MAX_DESCRIPTION_CHARS)}: `}${list}>`;
  return isText ? `"${words}"` : words;
}
