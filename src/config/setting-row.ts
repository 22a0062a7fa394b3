/** setting-row.ts -- the shape of one setting in the table, and the kinds of values that settings share. */
import { withCommas } from "#core/text.ts";

export interface ValueSchema {
  readonly type: "string" | "integer" | "number" | "boolean";
  readonly nullable?: true;
  readonly enum?: readonly (string | null)[];
  readonly pattern?: string;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly minimum?: number;
  readonly maximum?: number;
}

export interface SettingRow {
  /** Path in `Settings` and in goald.json, with dots. */
  readonly name: string;
  /** The first variable that is set wins. Default: GOALD_ and the name, such as GOALD_LOG_LEVEL for `log.level`. */
  readonly environment?: readonly string[];
  readonly schema: ValueSchema;
  /** The schema in words, for errors: "… must be <expected>". */
  readonly expected: string;
  /** Help text without default and unit. */
  readonly meaning: string;
  /** Unit of the default, where `meaning` does not name it. */
  readonly unit?: string;
  /** The effective default while the value is null. */
  readonly whenUnset?: string;
  /** The value is never shown and always redacted. */
  readonly secret?: true;
}

export type ValueOf<Schema extends ValueSchema> = Schema extends { nullable: true }
  ? ScalarOf<Schema> | null
  : ScalarOf<Schema>;
type ScalarOf<Schema extends ValueSchema> = Schema extends { enum: readonly (infer Choice)[] }
  ? Choice
  : { string: string; integer: number; number: number; boolean: boolean }[Schema["type"]];

export const yesOrNo = { schema: { type: "boolean" }, expected: "true or false" } as const;

export const modelName = {
  schema: { type: "string", minLength: 1, maxLength: 200, pattern: "^[^\\s\\p{Cc}]+$" },
  expected: "a model's name",
} as const;

/** Checked against the commands of the home when an agent gets it. */
export const commandList = {
  schema: { type: "string", nullable: true, minLength: 1, maxLength: 1000, pattern: "^[a-z0-9_, ]+$" },
  expected: "groups and names of commands, separated by commas",
} as const;

/** The value is sent in a header or a signature, so it has no blanks and no line breaks. */
export const secretKey = {
  schema: { type: "string", nullable: true, pattern: "^[\\x21-\\x7e]{1,1000}$" },
  expected: "a key of printable ASCII characters without blanks",
  secret: true,
} as const;

/** A key of GitHub, or of the server whose origin is before the key: `https://gitlab.com=KEY`. */
export const serverKey = {
  schema: { type: "string", nullable: true, pattern: "^(?:https?://[^\\s/?#@=]+=)?[\\x21-\\x39\\x3b-\\x7e]{1,1000}$" },
  expected: "a key, or an origin and its key such as https://gitlab.com=KEY",
  secret: true,
} as const;

export function splitServerKey(text: string): { readonly origin?: string; readonly key: string } {
  const [, origin, key = ""] = /^(?:(https?:\/\/[^\s/?#@=]+)=)?(.*)$/s.exec(text) ?? [];
  return origin === undefined ? { key } : { origin, key };
}

/** Credentials, queries and fragments are refused: they would put keys into logs. */
export const webAddress = {
  schema: { type: "string", maxLength: 2000, pattern: "^https?://[^\\s/?#@]+(?:/[^\\s?#@]*)?$" },
  expected: "an http or https address without credentials, query or fragment",
} as const;

/** Completes an address of this machine that was typed without a scheme, such as `localhost:8080`, with http. */
export const withScheme = (address: string): string =>
  address.replace(/^(?:localhost|127(?:\.\d{1,3}){3}|\[::1\])(?=[:/]|$)/i, "http://$&");

const numberOf =
  <const Type extends "integer" | "number">(type: Type, what: string) =>
  (minimum: number, maximum: number) => ({
    schema: { type, minimum, maximum },
    expected: `${what} from ${withCommas(minimum)} to ${withCommas(maximum)}`,
  });
export const wholeNumber = numberOf("integer", "a whole number");
export const anyNumber = numberOf("number", "a number");

export function choice<const Choices extends readonly string[]>(...choices: Choices) {
  return { schema: { type: "string", enum: choices }, expected: `one of ${choices.join(", ")}` } as const;
}

/** The same values, or unset. */
export function optional<const Schema extends ValueSchema>({
  schema,
  expected,
}: {
  readonly schema: Schema;
  readonly expected: string;
}) {
  return { schema: { ...schema, nullable: true }, expected: `${expected}, or none` } as const;
}
