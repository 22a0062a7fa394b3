/**
 * validate.ts -- a command as the model wrote it, held against the catalogue.
 *
 * One ajv validator per command name: a schema that joins all commands gives dozens of
 * errors for one mistake and is a hundred times slower. Validators are compiled at first
 * use and convert nothing; a second one that collects all errors only words the problems,
 * and never sees more than a few arguments too many.
 */
import { Ajv, type ErrorObject, type ValidateFunction } from "ajv";
import type { CommandCall } from "#core/call.ts";
import type { ArgsSchema } from "#core/command.ts";
import { type Aliases, commandNamed } from "./aliases.ts";
import { arrangeArguments } from "./arguments.ts";
import * as problem from "./problems.ts";
import type { RawCall } from "./shape.ts";

export interface Catalogue {
  /** Argument schema by command name. */
  readonly schemas: Readonly<Record<string, ArgsSchema>>;
  /** Whether running it can change anything. */
  hasSideEffect(name: string): boolean;
  readonly aliases: Aliases;
}

type Checked =
  | { readonly kind: "valid"; readonly call: CommandCall }
  /** `isTemplate`: no command is meant; its name is none, or what was to be filled in still stands there. */
  | { readonly kind: "invalid"; readonly problems: readonly string[]; readonly isTemplate: boolean };

export interface Validator {
  isName(written: string): boolean;
  /** `source`: the piece of the reply that the call came from. */
  check(call: RawCall, source: string): Checked;
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

export function createValidator({ schemas, aliases }: Catalogue): Validator {
  const names: ReadonlySet<string> = new Set(Object.keys(schemas));
  const deciding = compiler(schemas, false);
  const wording = compiler(schemas, true);
  return {
    isName: (written) => commandNamed(written, names, aliases) !== null,
    check({ name: written, args }, source) {
      if (typeof written !== "string" || written.trim() === "") return template(problem.noName());
      const name = commandNamed(written, names, aliases);
      if (name === null) return template(problem.unknownCommand(written, names));
      const schema = schemas[name] as ArgsSchema;
      const arranged = arrangeArguments(args, schema, aliases, source);
      switch (arranged.kind) {
        case "not-an-object":
          return invalid(problem.argumentsNotAnObject(name, schema));
        case "twice":
          return invalid(problem.argumentTwice(name, arranged.name));
        case "placeholder":
          return template(problem.placeholder(name, arranged.name, arranged.value));
        case "args":
          if (deciding(name)(arranged.args)) return { kind: "valid", call: { name, args: { ...arranged.args } } };
          return invalid(...words(wording(name), deciding(name).errors, arranged.args, name, schema));
      }
    },
  };
}

/** Compiles a command's validator when it is first asked for. */
function compiler(schemas: Catalogue["schemas"], allErrors: boolean): (name: string) => ValidateFunction {
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

function words(
  validate: ValidateFunction,
  deciding: ValidateFunction["errors"],
  args: Readonly<Record<string, unknown>>,
  name: string,
  schema: ArgsSchema,
): readonly string[] {
  const unknown = Object.keys(args).filter((key) => !Object.hasOwn(schema.properties, key));
  if (unknown.length > MAX_PROBLEMS) return [problem.manyUnknownArguments(name, unknown.length, schema)];
  // An error for each of a million items takes seconds.
  const isShort = Object.values(args).every((value) => !Array.isArray(value) || value.length <= MAX_WORDED_ITEMS);
  if (isShort) validate(args);
  const errors: readonly ErrorObject[] = (isShort ? validate.errors : deciding) ?? [];
  const lines = errors.map((error) => problem.schemaError(name, error, schema));
  return [...new Set(lines)].slice(0, MAX_PROBLEMS);
}

const invalid = (...problems: readonly string[]): Checked => ({ kind: "invalid", problems, isTemplate: false });
const template = (...problems: readonly string[]): Checked => ({ kind: "invalid", problems, isTemplate: true });
