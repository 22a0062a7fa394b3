/** describe-approval.ts -- the question whether a command may run, as a person reads it before answering. Pure. */

import { describeCall } from "#cli/terminal/describe-call.ts";
import { listSources } from "#core/describe-sources.ts";
import type { WaitingView } from "#views/waiting.ts";

/** The call and the reasons, in lines. */
export const describeApproval = (waiting: WaitingView): readonly string[] => [
  ...describeCall(waiting.command).split("\n"),
  ...(waiting.reason ?? "").split("\n").filter((line) => line !== ""),
  ...describeFacts(waiting),
];

/** Lines that the log's own question does not have. */
export const describeFacts = ({ files, until }: WaitingView): readonly string[] => [
  ...files.map(({ path, outside }) => `${JSON.stringify(path)} holds words from outside: ${listSources(outside)}.`),
  ...(until === null ? [] : [`The question expires at ${until}; the command is then rejected.`]),
];
