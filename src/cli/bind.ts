/** bind.ts -- how a verb hangs on the command line: one function of its arguments and options, that resolves to the exit code. */
import { InvalidArgumentError } from "commander";

export type Options = Readonly<Record<string, unknown>>;
export type Verb = (args: readonly string[], options: Options) => Promise<number>;
export type Bind = (verb: Verb) => (...given: unknown[]) => Promise<void>;

export const collect = (value: string, before: readonly string[] = []): readonly string[] => [...before, value];

export function positiveInteger(value: string): number {
  if (/^[1-9]\d{0,8}$/.test(value)) return Number(value);
  throw new InvalidArgumentError("Expected a whole number from 1.");
}
