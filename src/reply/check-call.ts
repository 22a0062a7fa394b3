/**
 * check-call.ts -- checks a command as the model wrote it against the catalogue.
 *
 * Names and types are adapted only without loss: a number becomes a string if its digits are kept, a list of one string a
 * string, integer digits an integer, a string a list. `true` never becomes 1. An unknown argument is never
 * dropped: without `"mode": "append"` a command would overwrite a file.
 *
 * Each command has its own ajv validator: one joint schema reports dozens of errors for one mistake and is a hundred
 * times slower. Validators convert nothing; a second one collects all errors for the problem texts.
 */
import { Ajv, type ErrorObject, type ValidateFunction } from "ajv";
import type { CommandCall } from "#core/call.ts";
import type { ArgsSchema, PropertySchema } from "#core/command.ts";
import { type Aliases, findArgumentName, findCommandName } from "./aliases.ts";
import type { RawCall } from "./find-call.ts";
import { isRecord, isSameJson, parseJson } from "./json.ts";
import { parseNested } from "./mend-object.ts";
import {
  describeArgsNotAnObject,
  describeClosedCommand,
  describePlaceholder,
  describeRepeatedArgument,
  describeSchemaError,
  describeUnknownArguments,
  describeUnknownCommand,
  PROBLEMS,
} from "./problems.ts";

export interface ReplyCatalogue {
  /** Argument schema by command name. */
  readonly schemas: Readonly<Record<string, ArgsSchema>>;
  /** True when the command can change anything. */
  hasSideEffect(name: string): boolean;
  readonly aliases: Aliases;
  /** Names of commands that exist but that this agent may not use. */
  readonly closed?: readonly string[];
}

type CheckedCall =
  | { readonly kind: "valid"; readonly call: CommandCall }
  /** `isTemplate`: no command was meant, since the name is unknown or a placeholder was not filled in. */
  | { readonly kind: "invalid"; readonly problems: readonly string[]; readonly isTemplate: boolean };

export interface CallValidator {
  isName(written: string): boolean;
  /** `source`: the part of the reply that contains the call. */
  checkCall(call: RawCall, source: string): CheckedCall;
}

const AJV_OPTIONS = {
  strict: true,
  coerceTypes: false,
  useDefaults: false,
  removeAdditional: false,
  ownProperties: true,
  unicodeRegExp: true,
} as const;
const MAX_PROBLEMS = 5;
const MAX_WORDED_ITEMS = 1_000;

export function createCallValidator({ schemas, aliases, closed = [] }: ReplyCatalogue): CallValidator {
  const closedNames: ReadonlySet<string> = new Set(closed);
  const names: ReadonlySet<string> = new Set(Object.keys(schemas));
  const deciding = createCompiler(schemas, false);
  const wording = createCompiler(schemas, true);
  return {
    isName: (written) => findCommandName(written, names, aliases) !== null,
    checkCall({ name: written, args }, source) {
      if (typeof written !== "string" || written.trim() === "") return rejectTemplate(PROBLEMS.noName);
      const name = findCommandName(written, names, aliases);
      if (name === null) {
        const other = findCommandName(written, closedNames, aliases);
        return rejectTemplate(other ? describeClosedCommand(other, names) : describeUnknownCommand(written, names));
      }
      const schema = schemas[name] as ArgsSchema;
      const arranged = arrangeArguments(args, schema, aliases, source);
      switch (arranged.kind) {
        case "not-an-object":
          return rejectCall(describeArgsNotAnObject(name, schema));
        case "twice":
          return rejectCall(describeRepeatedArgument(name, arranged.name));
        case "placeholder":
          return rejectTemplate(describePlaceholder(name, arranged.name, arranged.value));
        case "args":
          if (deciding(name)(arranged.args)) return { kind: "valid", call: { name, args: { ...arranged.args } } };
          return rejectCall(...describeErrors(wording(name), deciding(name).errors, arranged.args, name, schema));
      }
    },
  };
}

/** Checks calls that code made: nothing is adapted. Returns problems in words; none when the call is valid. */
export function createArgumentChecker(
  schemas: ReplyCatalogue["schemas"],
): (name: string, args: unknown) => readonly string[] {
  const deciding = createCompiler(schemas, false);
  const wording = createCompiler(schemas, true);
  return (name, args) => {
    const schema = Object.hasOwn(schemas, name) ? schemas[name] : undefined;
    if (!schema) return [describeUnknownCommand(name, new Set(Object.keys(schemas)))];
    if (!isRecord(args)) return [describeArgsNotAnObject(name, schema)];
    if (deciding(name)(args)) return [];
    return describeErrors(wording(name), deciding(name).errors, args, name, schema);
  };
}

/** Compiles each validator at its first use. */
function createCompiler(schemas: ReplyCatalogue["schemas"], allErrors: boolean): (name: string) => ValidateFunction {
  const ajv = new Ajv({ ...AJV_OPTIONS, allErrors }).addVocabulary(["hint"]);
  const compiled = new Map<string, ValidateFunction>();
  return (name) => {
    const known = compiled.get(name);
    if (known) return known;
    const schema = schemas[name] as ArgsSchema;
    const limit = allErrors ? {} : { maxProperties: Object.keys(schema.properties).length };
    const validate = ajv.compile({ ...schema, ...limit, additionalProperties: false });
    compiled.set(name, validate);
    return validate;
  };
}

function describeErrors(
  validate: ValidateFunction,
  deciding: ValidateFunction["errors"],
  args: Readonly<Record<string, unknown>>,
  name: string,
  schema: ArgsSchema,
): readonly string[] {
  const unknown = Object.keys(args).filter((key) => !Object.hasOwn(schema.properties, key));
  if (unknown.length > MAX_PROBLEMS) return [describeUnknownArguments(name, unknown.length, schema)];
  // Collecting an error for each of a million items takes seconds.
  const isShort = Object.values(args).every((value) => !Array.isArray(value) || value.length <= MAX_WORDED_ITEMS);
  if (isShort) validate(args);
  const errors: readonly ErrorObject[] = (isShort ? validate.errors : deciding) ?? [];
  const lines = errors.map((error) => describeSchemaError(name, error, schema));
  return [...new Set(lines)].slice(0, MAX_PROBLEMS);
}

const rejectCall = (...problems: readonly string[]): CheckedCall => ({ kind: "invalid", problems, isTemplate: false });
const rejectTemplate = (...problems: readonly string[]): CheckedCall => ({
  kind: "invalid",
  problems,
  isTemplate: true,
});

type ArrangedArguments =
  | { readonly kind: "args"; readonly args: Readonly<Record<string, unknown>> }
  | { readonly kind: "not-an-object" }
  | { readonly kind: "twice"; readonly name: string }
  | { readonly kind: "placeholder"; readonly name: string; readonly value: string };

/** Brings arguments to the names and types of their schema. */
function arrangeArguments(written: unknown, schema: ArgsSchema, aliases: Aliases, source: string): ArrangedArguments {
  const names = Object.keys(schema.properties);
  const nested = typeof written === "string" ? parseNested(written) : null;
  if (nested?.kind === "twice") return { kind: "twice", name: nested.key };
  const record = readArgsRecord(nested ? nested.value : written, schema, names);
  if (record === null) return { kind: "not-an-object" };
  const args: Record<string, unknown> = Object.create(null);
  const isKept = createDigitCheck(source);
  for (const [key, value] of Object.entries(record)) {
    const bare = key.trim().replace(/^["'`]+|["'`]+$/g, "");
    const name = findArgumentName(bare, names, aliases);
    const property = Object.hasOwn(schema.properties, name) ? schema.properties[name] : undefined;
    const converted = property ? convertArgument(value, property, isKept) : value;
    // A strict reply schema requires every argument, so null means an omitted one.
    if (value === null && property && !schema.required?.includes(name)) continue;
    if (name in args && !isSameJson(args[name], converted)) return { kind: "twice", name };
    args[name] = converted;
  }
  for (const [name, value] of Object.entries(args)) {
    const placeholder = [value].flat().find(isPlaceholder);
    if (placeholder !== undefined) return { kind: "placeholder", name, value: placeholder };
  }
  return { kind: "args", args };
}

/** Accepts a record, a record below a second `args`, or the value of the only argument. */
function readArgsRecord(
  value: unknown,
  schema: ArgsSchema,
  names: readonly string[],
): Readonly<Record<string, unknown>> | null {
  if (value === undefined || value === null || value === "" || (Array.isArray(value) && value.length === 0)) return {};
  // Text that starts like an object is a damaged object, not the argument itself.
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

function convertArgument(value: unknown, property: PropertySchema, isKept: (value: number) => boolean): unknown {
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

/** Returns a check whether the source has a number in the digits of `String(number)`: `1.10` fails, so do 20 digits. */
function createDigitCheck(source: string): (value: number) => boolean {
  const known = new Map<number, boolean>();
  return (value) => {
    const digits = String(value).replace(/[.+]/g, "\\$&");
    const isKept = known.get(value) ?? new RegExp(`(?<![\\d.eE+-])${digits}(?![\\d.eE])`).test(source);
    known.set(value, isKept);
    return isKept;
  };
}

/** Recognises `<file>`, as the command list writes arguments, and dots. */
const isPlaceholder = (value: unknown): value is string =>
  typeof value === "string" &&
  value.length <= 40 &&
  (/^<[a-z_ -]{2,38}>$/i.test(value.trim()) || /^(?:\.\.\.|…)$/.test(value.trim()));
