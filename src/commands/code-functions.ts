/**
 * code-functions.ts -- shows commands as functions of Python: signature, docstring, and the call that a use of it
 * stands for. A name that Python or goald itself uses gets an underscore: a command `print` is the function `print_`,
 * an argument `from` the parameter `from_`.
 */
import type { CommandCall } from "#core/call.ts";
import {
  type ArgsSchema,
  type Command,
  followReference,
  type JsonSchema,
  type JsonType,
  typesOf,
} from "#core/command.ts";
import type { CellFunction } from "#core/ports/sandbox.ts";
import { oneLine } from "#core/text.ts";
import { renderWithin } from "./describe.ts";

type StubCommand = Pick<Command, "name" | "summary" | "args" | "returns">;

const MAX_DESCRIPTION_CHARS = 200;
const MAX_DOC_CHARS = 1_200;

const words = (text: string): ReadonlySet<string> => new Set(text.split(" "));

/** Functions that goald defines in each namespace. */
const OWN_NAMES = "agent stop datetime get_user_location";

const PYTHON_KEYWORDS = words(
  "False None True and as assert async await break class continue def del elif else except finally for from global if " +
    "import in is lambda nonlocal not or pass raise return try while with yield",
);
const PYTHON_NAMES = words(
  `${OWN_NAMES} abs aiter all anext any ascii bin bool breakpoint bytearray bytes callable chr classmethod compile complex ` +
    "copyright credits delattr dict dir divmod enumerate eval exec exit filter float format frozenset getattr globals " +
    "hasattr hash help hex id input int isinstance issubclass iter len license list locals map match max memoryview min " +
    "next object oct open ord pow print property quit range repr reversed round set setattr slice sorted staticmethod str " +
    "sum super tuple type vars zip case",
);

const TEXT: JsonSchema = { type: "string" };

interface Stub {
  readonly command: StubCommand;
  readonly shown: CellFunction;
  /** Argument by parameter. */
  readonly argumentOf: ReadonlyMap<string, string>;
}

export function createCodeFunctions(commands: readonly StubCommand[]) {
  const stubs = new Map<string, Stub>();
  const byCommand = new Map<string, CellFunction>();
  for (const command of commands) {
    const stub = createStub(command, (name) => stubs.has(name));
    stubs.set(stub.shown.name, stub);
    byCommand.set(command.name, stub.shown);
  }
  return {
    all: [...stubs.values()].map(({ shown }) => shown),
    ofCommand: (name: string) => byCommand.get(name),
    /** Returns the call for a use of the function, with the command's own names; undefined for an unknown function. */
    callOf: (name: string, given: Readonly<Record<string, unknown>>): CommandCall | undefined => {
      const stub = stubs.get(name);
      return stub && { name: stub.command.name, args: nameArguments(stub, given) };
    },
  };
}

/** Returns one line, as method search prints it. */
export const describeFunction = ({ signature, doc }: Pick<CellFunction, "signature" | "doc">): string =>
  `\`${signature}\`: ${doc}`;

/** A result that does not say which members it has has all of them. */
function completeResult(schema: JsonSchema): JsonSchema {
  const { properties, items, required } = schema;
  const inner = properties && Object.entries(properties).map(([name, one]) => [name, completeResult(one)] as const);
  return {
    ...schema,
    ...(inner ? { properties: Object.fromEntries(inner), required: required ?? inner.map(([name]) => name) } : {}),
    ...(typeof items === "object" ? { items: completeResult(items) } : {}),
  };
}

function createStub({ returns, ...command }: StubCommand, isTaken: (name: string) => boolean): Stub {
  const { args } = command;
  const { properties, required = [] } = args;
  const argumentOf = new Map<string, string>();
  for (const name of sortRequiredFirst(properties, required))
    argumentOf.set(
      freeName(name, (one) => PYTHON_KEYWORDS.has(one) || argumentOf.has(one)),
      name,
    );
  const parameters = [...argumentOf].map(([name, argument]) => ({ name, isRequired: required.includes(argument) }));
  const shown = parameters.map(({ name, isRequired }) => {
    const schema = properties[argumentOf.get(name) as string] as JsonSchema;
    return renderParameter(name, isRequired, renderType(schema, args));
  });
  const name = freeName(command.name, (one) => PYTHON_KEYWORDS.has(one) || PYTHON_NAMES.has(one) || isTaken(one));
  const value = returns ? completeResult(returns) : TEXT;
  const signature = `${name}(${shown.join(", ")}) -> ${renderType(value, value)}`;
  return {
    command,
    argumentOf,
    shown: { name, parameters, signature, doc: renderDoc({ ...command, returns: value }, argumentOf) },
  };
}

function renderParameter(name: string, isRequired: boolean, type: string): string {
  if (isRequired) return `${name}: ${type}`;
  const isNullable = type === "Any" || type.split(" | ").includes("None");
  return `${name}: ${isNullable ? type : `${type} | None`} = None`;
}

const sortRequiredFirst = (properties: ArgsSchema["properties"], required: readonly string[]): readonly string[] =>
  [true, false].flatMap((isNeeded) => Object.keys(properties).filter((name) => required.includes(name) === isNeeded));

/** Returns an identifier; one that is taken gets underscores. */
function freeName(name: string, isTaken: (name: string) => boolean): string {
  let free = name.replace(/[^\p{L}\p{N}_]/gu, "_");
  while (isTaken(free)) free += "_";
  return free;
}

/** The summary, each argument that the schema describes, and what is in the result. */
function renderDoc(
  { summary, args, returns }: StubCommand & { readonly returns: JsonSchema },
  argumentOf: ReadonlyMap<string, string>,
): string {
  const described = [...argumentOf].flatMap(([name, argument]) => {
    const description = describeSchema(args.properties[argument] as JsonSchema, args);
    return description === "" ? [] : [`${name}: ${description}`];
  });
  const first = oneLine(summary, 300);
  const sentence = `${first.charAt(0).toUpperCase()}${first.slice(1)}${/[.!?…]$/.test(first) ? "" : "."}`;
  const result = describeSchema(returns, returns);
  const parts = [
    sentence,
    ...(described.length === 0 ? [] : [`Arguments: ${described.join("; ")}.`]),
    ...(result === "" ? [] : [`Returns ${result}.`]),
  ];
  return oneLine(parts.join(" "), MAX_DOC_CHARS);
}

/** The description, and the members of an object, which a type of Python does not name. */
function describeSchema(schema: JsonSchema, root: JsonSchema): string {
  const followed = followReference(schema, root);
  const description = followed.description === undefined ? "" : oneLine(followed.description, MAX_DESCRIPTION_CHARS);
  const item = typesOf(followed).includes("array") && typeof followed.items === "object" ? followed.items : followed;
  const { properties = {}, required = [] } = followReference(item, root);
  const noun = item === followed ? "a dict" : "dicts";
  const members = Object.entries(properties).map(([name, { description }]) => {
    const mark = required.includes(name) ? "" : " (optional)";
    return `${name}${mark}${description === undefined ? "" : `: ${oneLine(description, MAX_DESCRIPTION_CHARS)}`}`;
  });
  if (members.length === 0) return description;
  return `${description === "" ? noun : `${description},`} with ${members.join(", ")}`;
}

/** Gives the arguments their own names. Null for an argument that cannot be null leaves it out, as its default says. */
function nameArguments(
  { command, argumentOf }: Stub,
  given: Readonly<Record<string, unknown>>,
): Readonly<Record<string, unknown>> {
  const { properties, required = [] } = command.args;
  const named = Object.entries(given).map(([name, value]) => [argumentOf.get(name) ?? name, value] as const);
  const isLeftOut = (name: string, value: unknown): boolean => {
    const schema = Object.hasOwn(properties, name) ? properties[name] : undefined;
    return value === null && schema !== undefined && !required.includes(name) && !allowsNull(schema, command.args);
  };
  return Object.fromEntries(named.filter(([name, value]) => !isLeftOut(name, value)));
}

const MAX_CHOICES = 12;
/** A longer type is written with fewer levels. */
const MAX_TYPE_CHARS = 300;

const PYTHON_WORDS: ReadonlyMap<unknown, string> = new Map<unknown, string>([
  [true, "True"],
  [false, "False"],
  [null, "None"],
]);

const NAMES: Readonly<Record<JsonType, string>> = {
  string: "str",
  integer: "int",
  number: "float",
  boolean: "bool",
  null: "None",
  array: "list",
  object: "dict",
};
const UNKNOWN = "Any";

const writeChoice = (value: unknown): string => PYTHON_WORDS.get(value) ?? JSON.stringify(value);

/**
 * Writes a JSON Schema as a type of Python, for the signatures of functions. A type helps the model to write a call.
 * The arguments of the call are checked against the schema itself, so what a type cannot say is left out.
 */
const renderType = (schema: JsonSchema, root: JsonSchema): string =>
  renderWithin(MAX_TYPE_CHARS, (levels) => typeOf(schema, root, levels));

/** Whether null is a value of the type. */
function allowsNull(schema: JsonSchema, root: JsonSchema): boolean {
  const followed = followReference(schema, root);
  const types = typesOf(followed);
  const alternatives = followed.anyOf ?? followed.oneOf;
  if (alternatives) return alternatives.some((each) => allowsNull(each, root));
  const choices = choicesOf(followed);
  if (choices) return choices.includes(null);
  return types.length === 0 || types.includes("null");
}

const choicesOf = ({ const: only, enum: choices }: JsonSchema): readonly unknown[] | undefined =>
  only === undefined ? choices : [only];

function typeOf(schema: JsonSchema, root: JsonSchema, levels: number): string {
  const followed = followReference(schema, root);
  const alternatives = followed.anyOf ?? followed.oneOf;
  if (alternatives && levels > 1) return unite(alternatives.map((each) => typeOf(each, root, levels - 1)));
  const choices = choicesOf(followed);
  if (choices && choices.length <= MAX_CHOICES && choices.every(isPlain))
    return `Literal[${choices.map(writeChoice).join(", ")}]`;
  const types = typesOf(followed);
  const named = types.length > 0 || !choices ? types : [...new Set(choices.map(jsonTypeOf))];
  return unite(named.map((type) => namedType(type, followed, root, levels)));
}

function namedType(
  type: JsonType,
  { items, properties = {}, additionalProperties }: JsonSchema,
  root: JsonSchema,
  levels: number,
): string {
  const inner = (schema: JsonSchema): string => typeOf(schema, root, levels - 1);
  if (levels <= 1) return NAMES[type];
  if (type === "array" && typeof items === "object") return `list[${inner(items)}]`;
  if (type !== "object") return NAMES[type];
  const isMap = Object.keys(properties).length === 0 && typeof additionalProperties === "object";
  return isMap ? `dict[str, ${inner(additionalProperties)}]` : NAMES.object;
}

/** Null comes last. */
function unite(types: readonly string[]): string {
  const parts = [...new Set(types)];
  if (parts.length === 0 || parts.includes(UNKNOWN)) return UNKNOWN;
  return [...parts.filter((part) => part !== NAMES.null), ...parts.filter((part) => part === NAMES.null)].join(" | ");
}

const isPlain = (value: unknown): boolean => typeof value !== "object" || value === null;

function jsonTypeOf(value: unknown): JsonType {
  if (value === null) return "null";
  if (Array.isArray(value)) return "array";
  if (typeof value === "number") return Number.isInteger(value) ? "integer" : "number";
  return typeof value === "string" ? "string" : typeof value === "boolean" ? "boolean" : "object";
}
