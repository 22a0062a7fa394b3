/**
 * arguments.ts -- arguments brought to the names and types of their schema, where nothing is lost by it.
 *
 * Only four conversions are made: a number for a string where its digits are kept, a list of one string for
 * a string, an integer in digits for an integer, a string for a list. `true` never becomes 1,
 * null never becomes "" or 0 (it leaves out what may be left out), an unknown argument is never dropped: dropping
 * `"mode": "append"` would overwrite a file. Templates copied from the prompt are told apart.
 */
import type { ArgsSchema, PropertySchema } from "#core/command.ts";
import { type Aliases, argumentNamed } from "./aliases.ts";
import { isRecord, isSame, parseJson } from "./json.ts";
import { parseNested } from "./nested.ts";

export type Arranged =
  | { readonly kind: "args"; readonly args: Readonly<Record<string, unknown>> }
  | { readonly kind: "not-an-object" }
  | { readonly kind: "twice"; readonly name: string }
  | { readonly kind: "placeholder"; readonly name: string; readonly value: string };

/** `source`: the piece of the reply that `written` came from. */
export function arrangeArguments(written: unknown, schema: ArgsSchema, aliases: Aliases, source: string): Arranged {
  const names = Object.keys(schema.properties);
  const nested = typeof written === "string" ? parseNested(written) : null;
  if (nested?.kind === "twice") return { kind: "twice", name: nested.key };
  const record = asRecord(nested ? nested.value : written, schema, names);
  if (record === null) return { kind: "not-an-object" };
  const args: Record<string, unknown> = Object.create(null);
  const isKept = keptIn(source);
  for (const [key, value] of Object.entries(record)) {
    const bare = key.trim().replace(/^["'`]+|["'`]+$/g, "");
    const name = argumentNamed(bare, names, aliases);
    const property = Object.hasOwn(schema.properties, name) ? schema.properties[name] : undefined;
    const converted = property ? convert(value, property, isKept) : value;
    // In a strict schema every argument is required, and this is how one is left out.
    if (value === null && property && !schema.required?.includes(name)) continue;
    if (name in args && !isSame(args[name], converted)) return { kind: "twice", name };
    args[name] = converted;
  }
  for (const [name, value] of Object.entries(args)) {
    const placeholder = [value].flat().find(isPlaceholder);
    if (placeholder !== undefined) return { kind: "placeholder", name, value: placeholder };
  }
  return { kind: "args", args };
}

/** The arguments as a record: from below a second `args`, or the one argument itself. */
function asRecord(
  value: unknown,
  schema: ArgsSchema,
  names: readonly string[],
): Readonly<Record<string, unknown>> | null {
  if (value === undefined || value === null || value === "" || (Array.isArray(value) && value.length === 0)) return {};
  // What begins like an object and is none is a damaged one, hardly the argument itself.
  if (typeof value === "string" && /^\s*(?:"|```\w{0,20}\s{0,20})?\{/.test(value)) return null;
  const [only] = names;
  if (
    typeof value === "string" &&
    only !== undefined &&
    names.length === 1 &&
    schema.properties[only]?.type === "string"
  )
    return { [only]: value };
  if (!isRecord(value)) return null;
  const isNested = Object.keys(value).length === 1 && isRecord(value.args) && !names.includes("args");
  return isNested ? (value.args as Readonly<Record<string, unknown>>) : value;
}

function convert(value: unknown, property: PropertySchema, isKept: (value: number) => boolean): unknown {
  switch (property.type) {
    case "string":
      if (typeof value === "number") return isKept(value) ? String(value) : value;
      if (Array.isArray(value) && value.length === 1 && typeof value[0] === "string") return value[0].toWellFormed();
      return typeof value === "string" ? value.toWellFormed() : value;
    case "integer":
      if (typeof value === "number" && Math.abs(value) > Number.MAX_SAFE_INTEGER) return String(value);
      return typeof value === "string" && /^-?\d{1,15}$/.test(value) ? Number(value) : value;
    case "array": {
      if (typeof value !== "string") return value;
      if (!value.trimStart().startsWith("[")) return [value];
      const parsed = parseJson(value);
      return Array.isArray(parsed) ? parsed : value;
    }
    case "number":
    case "boolean":
      return value;
  }
}

/** Whether the reply writes a number in the digits that it is kept in: `1.10` is not, nor what is too long for a number. */
function keptIn(source: string): (value: number) => boolean {
  const known = new Map<number, boolean>();
  return (value) => {
    const digits = String(value).replace(/[.+]/g, "\\$&");
    const isKept = known.get(value) ?? new RegExp(`(?<![\\d.eE+-])${digits}(?![\\d.eE])`).test(source);
    known.set(value, isKept);
    return isKept;
  };
}

/** `<file>`, as the command list and the response format write what is to be filled in; or dots for it. */
const isPlaceholder = (value: unknown): value is string =>
  typeof value === "string" &&
  value.length <= 40 &&
  (/^<[a-z_ -]{2,38}>$/i.test(value.trim()) || /^(?:\.\.\.|…)$/.test(value.trim()));
