/**
 * check-call.ts -- checks a command as the model wrote it against the catalogue. Each command has its own ajv
 * validator: one joint schema reports dozens of errors for one mistake and is a hundred times slower. Validators
 * convert nothing; a second one collects all errors for the problem texts.
 */
import { createContext, Script } from "node:vm";
import type { ValidateFunction } from "ajv";
import type { CommandCall } from "#core/call.ts";
import { type ArgsSchema, TASK_COMPLETE } from "#core/command.ts";
import { codeOf } from "#core/errors.ts";
import { once, rememberBy } from "#util/caches.ts";
import { isRecord, type JsonRecord } from "#util/json.ts";
import { createAjv } from "#util/schema.ts";
import { type Aliases, arrangeArguments, collectValues, findCommandName } from "./arrange-args.ts";
import type { RawCall } from "./find-call.ts";
import * as say from "./problems.ts";

export interface ReplyCatalogue {
  /** Argument schema by command name. */
  readonly schemas: Readonly<Record<string, ArgsSchema>>;
  /** True when the command can change anything. */
  hasSideEffect(name: string): boolean;
  /** True when the command only reads, and reaches nothing outside of the machine. */
  isHarmless(name: string): boolean;
  /** True when the command must be the only one of its reply. Default: every command. */
  isLonely?(name: string): boolean;
  readonly aliases: Aliases;
  /** Names of commands that exist but that this agent may not use. */
  readonly closed?: readonly string[];
}

type CheckedCall =
  /** `thought`: see `arrangeArguments`. */
  | { readonly kind: "valid"; readonly call: CommandCall; readonly thought?: string | undefined }
  | {
      readonly kind: "invalid";
      readonly problems: readonly string[];
      /** Undefined: no command was meant, since the name is unknown or a placeholder was not filled in. */
      readonly name: string | undefined;
      /** Set when there is no command of this name. */
      readonly unknownName?: string;
    };

export interface CallValidator {
  isName(written: string): boolean;
  /** `source`: the part of the reply that contains the call. */
  checkCall(call: RawCall, source: string): CheckedCall;
}

/** Schemas were checked when their command was loaded, so unknown keywords and formats are not errors here. */
export const AJV_OPTIONS = {
  strict: false,
  validateSchema: false,
  validateFormats: false,
  logger: false,
  ownProperties: true,
  unicodeRegExp: true,
  // 0.29 / 0.01 is 28.999999999999996.
  multipleOfPrecision: 6,
  code: { regExp: Object.assign(createBoundedPattern, { code: "createBoundedPattern" }) },
} as const;
const MAX_WORDED_VALUES = 1_000;

export function createCallValidator({ schemas, aliases, closed = [] }: ReplyCatalogue): CallValidator {
  const closedNames: ReadonlySet<string> = new Set(closed);
  const names: ReadonlySet<string> = new Set(Object.keys(schemas));
  return {
    isName: (written) => findCommandName(written, names, aliases) !== null,
    checkCall({ name: written, args }, source) {
      if (typeof written !== "string" || written.trim() === "") return reject([say.PROBLEMS.noName]);
      const name = findCommandName(written, names, aliases);
      if (name === null) {
        const other = findCommandName(written, closedNames, aliases);
        if (other) return reject([say.describeClosedCommand(other, names)]);
        return { ...reject([say.describeUnknownCommand(written, names)]), unknownName: written };
      }
      const schema = schemas[name] as ArgsSchema;
      const arranged = arrangeArguments(args, schema, aliases, source);
      switch (arranged.kind) {
        case "not-an-object":
          return reject([say.describeArgsNotAnObject(name, schema)], name);
        case "twice":
          return reject([say.describeRepeatedArgument(name, arranged.name)], name);
        case "placeholder":
          return reject([say.describePlaceholder(name, arranged.name, arranged.value)]);
        case "args": {
          const given: Record<string, unknown> = { ...arranged.args };
          // The last thought then is the reason.
          if (name === TASK_COMPLETE && schema.properties.reason) given.reason ??= "";
          const problems = findProblems(name, given, schema);
          if (problems.length > 0) return reject(problems, name);
          return { kind: "valid", call: { name, args: given }, thought: arranged.thought };
        }
      }
    },
  };
}

interface ArgumentRules extends Pick<ReplyCatalogue, "schemas" | "closed"> {
  /** Commands that no problem names. */
  readonly unnamed?: readonly string[];
}

/** Checks calls that code made: nothing is adapted. Returns problems in words; none when the call is valid. */
export function createArgumentChecker({
  schemas,
  closed = [],
  unnamed = [],
}: ArgumentRules): (name: string, args: unknown) => readonly string[] {
  const names: ReadonlySet<string> = new Set(Object.keys(schemas).filter((name) => !unnamed.includes(name)));
  return (name, args) => {
    const schema = Object.hasOwn(schemas, name) ? schemas[name] : undefined;
    if (!schema)
      return [closed.includes(name) ? say.describeClosedCommand(name, names) : say.describeUnknownCommand(name, names)];
    if (!isRecord(args)) return [say.describeArgsNotAnObject(name, schema)];
    return findProblems(name, args, schema);
  };
}

/** Compiles each schema at its first use. The catalogues of several profiles share the schemas of their commands. */
function createCompiler(allErrors: boolean): (schema: ArgsSchema) => ValidateFunction {
  const ajv = once(() => createAjv({ ...AJV_OPTIONS, allErrors }));
  return rememberBy((schema: ArgsSchema): ValidateFunction => {
    const closed = closeSchema(schema, allErrors);
    const validate = ajv().compile(closed);
    // Else ajv keeps it for ever, and refuses another schema with the same $id.
    ajv().removeSchema(closed);
    return validate;
  });
}
/** Stops at the first error. */
const decidingValidator = createCompiler(false);
const wordingValidator = createCompiler(true);

/** Keywords beside which other schemas may define arguments. */
const OPENING = [
  "additionalProperties",
  "patternProperties",
  "unevaluatedProperties",
  "$ref",
  "allOf",
  "anyOf",
  "oneOf",
  "if",
];

/** Refuses unknown arguments, unless the schema states itself which others there may be. */
function closeSchema(schema: ArgsSchema, allErrors: boolean): object {
  if (OPENING.some((keyword) => Object.hasOwn(schema, keyword) && schema[keyword] !== false)) return schema;
  const limit = allErrors ? {} : { maxProperties: Object.keys(schema.properties).length };
  return { ...schema, ...limit, additionalProperties: false };
}

/** Returns sentences for the model; none when the arguments are valid. */
function findProblems(name: string, args: JsonRecord, schema: ArgsSchema): readonly string[] {
  const validate = decidingValidator(schema);
  if (validate(args)) return [];
  const { errors: deciding } = validate;
  const unknown = Object.keys(args).filter((key) => !Object.hasOwn(schema.properties, key));
  if (unknown.length > say.MAX_PROBLEMS && deciding?.some(({ keyword }) => keyword === "maxProperties"))
    return [say.describeUnknownArguments(name, unknown.length, schema)];
  // Collecting an error for each of a million items takes seconds.
  const isShort = collectValues(args).length <= MAX_WORDED_VALUES;
  const wording = wordingValidator(schema);
  if (isShort) wording(args);
  const errors = (isShort ? wording.errors : deciding) ?? [];
  const lines = errors.map((error) => say.describeArgumentError(name, error, schema));
  return [...new Set(lines)].slice(0, say.MAX_PROBLEMS);
}

const reject = (problems: readonly string[], name?: string): CheckedCall => ({ kind: "invalid", problems, name });

const MAX_MATCH_MS = 100;
/** A pattern with one quantifier needs at most the square of the text's length. */
const MAX_DIRECT_CHARS = 2_000;

/**
 * Returns a test of texts against a pattern of a schema within a time limit. A backtracking pattern such as `(a+)+b`
 * can need hours for forty letters. Whether a pattern can do that is hard to tell, so its run is bounded instead: V8
 * ends a script of another context at its timeout, inside a match too. A text that takes longer does not match. Throws
 * a SyntaxError for an invalid pattern.
 */
export function createBoundedPattern(pattern: string, flags: string) {
  const expression = new RegExp(pattern, flags);
  const isSimple = !pattern.includes("(") && (pattern.match(/[*+{]/g) ?? []).length <= 1;
  return {
    /** Differs between patterns: ajv compares them by it. */
    toString: () => String(expression),
    test: (text: string): boolean =>
      isSimple && text.length <= MAX_DIRECT_CHARS ? expression.test(text) : matches(expression, text),
  };
}

const matching = new Script("expression.test(text)");
let context: { expression?: RegExp; text?: string } | undefined;

function matches(expression: RegExp, text: string): boolean {
  context ??= createContext({});
  Object.assign(context, { expression, text });
  try {
    return matching.runInContext(context, { timeout: MAX_MATCH_MS });
  } catch (error) {
    if (codeOf(error) === "ERR_SCRIPT_EXECUTION_TIMEOUT") return false;
    throw error;
  } finally {
    Object.assign(context, { expression: undefined, text: undefined });
  }
}
