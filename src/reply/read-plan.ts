/**
 * read-plan.ts -- reads a reply of the form `plan` as one command, or as problems in words.
 *
 * The reader of commands does the work: repair, names, arguments, schemas. This form has its own shape and short names, an
 * unknown action is answered with all actions, and its thoughts are actions.
 */
import { TASK_COMPLETE } from "#core/command-names.ts";
import { type CallValidator, createCallValidator, type ReplyCatalogue } from "./check-call.ts";
import type { RawCall } from "./find-call.ts";
import { isRecord } from "./json.ts";
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
  const needsReason = catalogue.schemas[TASK_COMPLETE]?.properties.reason !== undefined;
  const validator: CallValidator = {
    isName: (written) => known.isName(resolveAction(written)),
    checkCall(written, source) {
      const checked = known.checkCall(withReason(toCommand(written), needsReason), source);
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

/** Without arguments the closing action ends the work and gives no reason. */
function withReason({ name, args }: RawCall, needsReason: boolean): RawCall {
  const isBare = args === undefined || args === null || (isRecord(args) && Object.keys(args).length === 0);
  return name === TASK_COMPLETE && isBare && needsReason ? { name, args: { reason: "" } } : { name, args };
}
