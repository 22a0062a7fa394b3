/**
 * read-plan.ts -- reads a reply of the form `plan` as one command, or as problems in words.
 *
 * The reader of commands does the work: repair, names, arguments, schemas. This form has its own shape and short names, an
 * unknown action is answered with all actions, and its thoughts are actions.
 */
import { type CallValidator, createCallValidator, type ReplyCatalogue } from "./check-call.ts";
import type { ParsedReply } from "./parsed-reply.ts";
import { findAction, resolveAction, thoughtIn, toCommand } from "./plan-action.ts";
import { describeUnknownAction, rephraseForPlan } from "./problems.ts";
import { createReplyReader } from "./read.ts";
import { NO_THOUGHTS } from "./thoughts.ts";

/** `listed`: the names that an unknown action is answered with. */
export function createPlanReader(
  catalogue: ReplyCatalogue,
  listed: readonly string[],
  known: CallValidator = createCallValidator(catalogue),
): (text: string, finishReason: string) => ParsedReply {
  const validator: CallValidator = {
    isName: (written) => known.isName(resolveAction(written)),
    checkCall(written, source) {
      const checked = known.checkCall(toCommand(written), source);
      if (checked.kind === "valid" || checked.unknownName === undefined) return checked;
      return { ...checked, problems: [describeUnknownAction(checked.unknownName, listed)] };
    },
  };
  const read = createReplyReader(catalogue, validator, findAction);
  return (text, finishReason) => {
    const parsed = read(text, finishReason);
    if (parsed.kind === "problem") return { ...parsed, problems: parsed.problems.map(rephraseForPlan) };
    const thought = thoughtIn(parsed.call);
    return thought === "" ? parsed : { ...parsed, thoughts: { ...NO_THOUGHTS, text: thought } };
  };
}
