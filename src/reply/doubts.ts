/** doubts.ts -- signs that a call which could be read is not what was meant. Pure. */
import type { CommandCall } from "#core/call.ts";
import { isSame } from "./json.ts";
import { shapeOf } from "./shape.ts";
import { clearSpans } from "./spans.ts";
import type { Validator } from "./validate.ts";

/** The order of the arguments says nothing. */
export const isSameCall = (a: CommandCall, b: CommandCall): boolean =>
  a.name === b.name && isSame(Object.entries(a.args).sort(), Object.entries(b.args).sort());

/** The calls that stand in a damaged object as pieces of their own, and can be read there without a guess. */
export function clearCalls(source: string, validator: Validator) {
  const { values, isFirstClear } = clearSpans(source);
  const calls: readonly CommandCall[] = values.flatMap((value) => {
    const shape = shapeOf({ command: value }, validator.isName);
    const checked = shape.kind === "call" ? validator.check(shape.call, source) : null;
    return checked?.kind === "valid" ? [checked.call] : [];
  });
  return { calls, isFirstClear };
}

/** Bytes that are no text came in the place of a letter: what stood there is lost. */
export const isDamaged = ({ args }: CommandCall): boolean =>
  Object.values(args)
    .flat()
    .some((value) => typeof value === "string" && value.includes("\ufffd"));

/** A guess that took brackets and keys of the reply for content, or a stray quote at an end of it. */
export const looksMisread = ({ args }: CommandCall): boolean =>
  Object.values(args)
    .flat()
    .some(
      (value) =>
        typeof value === "string" &&
        (/"\s{0,50}(?::|,\s{0,50}"|[}\]]\s{0,50}[,}\]])/.test(value) ||
          /^[^“„]*”\s*$/.test(value) ||
          (/^\s*"|"\s*$/.test(value) && value.split('"').length % 2 === 0)),
    );
