/**
 * read-action.ts -- reads a reply in prose: its code becomes a call of `run_code`.
 *
 * Without code, a reply of the form `code` ends the work: its text is the reason, or the result of a sub-task. In the form
 * `react` an action or a line RESULT: is always needed. A reply that was cut off runs only if its code was whole.
 */
import type { CommandCall } from "#core/call.ts";
import type { JsonSchema } from "#core/command.ts";
import { RUN_CODE } from "#core/command-names.ts";
import type { ActionForm } from "#core/state.ts";
import { MAX_REPLY_CHARS, type ParsedReply, refuseReply } from "./parsed-reply.ts";
import { ACTION_PROBLEMS, describeForeignCode, describeTooLarge, PROBLEMS } from "./problems.ts";
import { readReturn } from "./read-return.ts";
import { type SplitAction, splitAction } from "./split-action.ts";
import { NO_THOUGHTS, type Thoughts } from "./thoughts.ts";

/** The work that a reply without code ends: a sub-task with a result of that type, or else the agent's work. */
interface EndedWork {
  /** Name of the command that ends it. */
  readonly command: string;
  readonly returns?: JsonSchema;
  /** True when the reply before was refused: a block for a shell is then a part of the answer. */
  readonly isSecondTry?: boolean;
}

export function readAction(
  text: string,
  finishReason: string,
  form: ActionForm,
  { command, returns, isSecondTry = false }: EndedWork,
): ParsedReply {
  if (text.length > MAX_REPLY_CHARS) return refuseReply(null, describeTooLarge(text.length, MAX_REPLY_CHARS));
  const split = splitAction(text, form);
  const thoughts = thoughtsOf(split);
  const problem = problemOf(split, form, { isFull: finishReason === "length", isSecondTry });
  if (problem !== undefined) return refuseReply(thoughts, problem);
  const run = (call: CommandCall): ParsedReply => ({ kind: "command", call, thoughts, repaired: false });
  if (split.code !== null) return run({ name: RUN_CODE, args: { code: split.code } });
  const answer = split.result ?? split.shown;
  const args = returns ? { result: readReturn(answer, returns) } : { reason: answer };
  return run({ name: command, args });
}

/** The prose of a reply, as people and memory read it. Null for an empty one. */
export function readActionThoughts(text: string, form: ActionForm): Thoughts | null {
  const split = splitAction(text.slice(0, MAX_REPLY_CHARS), form);
  return split.thought === "" ? null : thoughtsOf(split);
}

const thoughtsOf = ({ thought }: SplitAction): Thoughts => ({ ...NO_THOUGHTS, text: thought });

function problemOf(
  split: SplitAction,
  form: ActionForm,
  { isFull, isSecondTry }: { readonly isFull: boolean; readonly isSecondTry: boolean },
): string | undefined {
  const { code, shown, result, thought, isClosed, isOnlyReasoning, foreign } = split;
  const words = ACTION_PROBLEMS[form];
  if (isOnlyReasoning) return words.onlyReasoning;
  if (isFull && (code === null || !isClosed)) return words.cutOff;
  if (result !== null) return result === "" ? words.noCode : undefined;
  if (foreign !== "" && !isSecondTry) return describeForeignCode(foreign);
  if (code === null) return form === "react" || shown === "" ? words.noCode : undefined;
  if (code.trim() === "") return thought === "" ? words.noCode : words.emptyCode;
  return code.includes("\ufffd") ? PROBLEMS.damagedCode : undefined;
}
