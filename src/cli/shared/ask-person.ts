/** ask-person.ts -- asks the person at the terminal to approve the shown command, or to answer a question. */
import { APPROVAL_QUESTION, readApproval } from "#cli/terminal/questions.ts";
import { clean } from "#util/outside-text.ts";
import type { CliContext } from "./context.ts";

export type PersonSaid =
  | { readonly kind: "approved"; readonly count: number }
  | { readonly kind: "feedback"; readonly text: string }
  /** The answer to the agent's own question. */
  | { readonly kind: "words"; readonly text: string }
  /** Pause the agent; the command does not run. */
  | { readonly kind: "no" }
  /** Ctrl-C or the end of input. */
  | { readonly kind: "left" }
  /** The question was withdrawn before an answer. */
  | { readonly kind: "withdrawn" };

/**
 * Resolves to the person's answer. Aborting `withdraw` withdraws the question. `isAsked`: the same question was asked
 * before, so that a half-typed line may answer it.
 */
export type AskPerson = (withdraw: AbortSignal, isAsked: boolean) => Promise<PersonSaid>;

/** Asks the agent's own question. Resolves to undefined when the person leaves or the question is withdrawn. */
export type AskWords = (question: string, withdraw: AbortSignal) => Promise<string | undefined>;

/** Returns undefined without an interactive terminal. */
export function createAskPerson(context: CliContext): AskPerson | undefined {
  const { output } = context;
  if (!output.interactive) return undefined;
  return async (withdraw, isAsked) => {
    for (let isSeen = isAsked; ; isSeen = true) {
      const line = await askLine(context, APPROVAL_QUESTION, withdraw);
      if (line === undefined) return { kind: withdraw.aborted ? "withdrawn" : "left" };
      const answer = readApproval(line);
      if (answer.kind === "approved" && !isSeen && output.input().wasBegunEarly) {
        output.say("You began to type that before the command was shown. Answer again.");
        continue;
      }
      switch (answer.kind) {
        case "approved":
        case "feedback":
          return answer;
        case "refused":
          return { kind: "no" };
        case "unclear":
          output.say(answer.why);
      }
    }
  };
}

/** Returns undefined without an interactive terminal. Repeats the question after an empty line. */
export function createAskWords(context: CliContext): AskWords | undefined {
  const { output, redact } = context;
  if (!output.interactive) return undefined;
  return async (question, withdraw) => {
    output.say(redact(clean(`\nIt asks: ${question}`)));
    for (;;) {
      const line = await askLine(context, "Your answer: ", withdraw);
      if (line === undefined || line.trim() !== "") return line && clean(line).trim();
    }
  };
}

/** Resolves to undefined when the person leaves or the question is withdrawn. */
async function askLine({ output }: CliContext, question: string, withdraw: AbortSignal): Promise<string | undefined> {
  try {
    return await output.input().askLine(question, withdraw);
  } catch (thrown) {
    if (withdraw.aborted) return undefined;
    throw thrown;
  }
}
