/** describe-approval.ts -- the question whether a command may run, as a person reads it before answering. Pure. */
import { describeCall, describeCode, isShownWhole } from "#cli/terminal/describe-call.ts";
import { listSources } from "#core/provenance.ts";
import type { WaitingView } from "#views/waiting.ts";

/** A question shows this many lines of code. `goald show` shows all. */
export const MAX_QUESTION_LINES = 500;

/** The call, its code and the reasons, in lines. `maxLines`: of the code; default: all. */
export const describeApproval = (waiting: WaitingView, maxLines?: number): readonly string[] => [
  ...describeCall(withoutCode(waiting)).split("\n"),
  ...(waiting.code ? describeCode(waiting.code, maxLines) : []),
  ...(waiting.reason ?? "").split("\n").filter((line) => line !== ""),
  ...describeFacts(waiting),
];

/** The code is shown by itself. */
function withoutCode({ command, code }: WaitingView): WaitingView["command"] {
  if (!code || code.file !== null) return command;
  const { code: _, ...args } = command.args;
  return { ...command, args };
}

/** Lines that the call and the question in the log do not show: the rest of the code, whose words files hold, and the end. */
export const describeMore = (waiting: WaitingView): readonly string[] => [
  ...(waiting.code && isPartly(waiting) ? describeCode(waiting.code, MAX_QUESTION_LINES) : []),
  ...describeFacts(waiting),
];

const isPartly = ({ command, code }: WaitingView): boolean =>
  code?.text !== command.args.code || !isShownWhole(code?.text ?? "");

const describeFacts = ({ files, until }: WaitingView): readonly string[] => [
  ...files.map(({ path, outside }) => `${JSON.stringify(path)} holds words from outside: ${listSources(outside)}.`),
  ...(until === null ? [] : [`The question expires at ${until}; the command is then rejected.`]),
];

/** How to read the code of a question that does not show all of it; empty when it does. */
export const describeRest = ({ code }: WaitingView, call: string): readonly string[] =>
  code && code.text.split("\n").length > MAX_QUESTION_LINES ? [`All of the code: ${call}`] : [];
