/**
 * ask-person.ts -- asks the person at the terminal whether the command that was just shown may run.
 */

import { approvalQuestion, readApproval } from "#cli/terminal/questions.ts";
import { clean } from "#util/clean.ts";
import type { CliContext } from "./context.ts";

/** The grammar of the answers is AutoGPT's. */
export type PersonSaid =
  | { readonly kind: "approved"; readonly count: number }
  | { readonly kind: "feedback"; readonly text: string }
  /** The answer to the agent's own question. */
  | { readonly kind: "words"; readonly text: string }
  /** The agent is to stop; nothing of the command has run. */
  | { readonly kind: "no" }
  /** By Ctrl-C or the end of input. */
  | { readonly kind: "left" }
  /** The question was taken back before there was an answer. */
  | { readonly kind: "withdrawn" };

/** Resolves to what the person said; `withdraw` takes the question back. */
export type AskPerson = (withdraw: AbortSignal) => Promise<PersonSaid>;

/** Asks the agent's own question; undefined when the person leaves, or when it is taken back. */
export type AskWords = (question: string, withdraw: AbortSignal) => Promise<string | undefined>;

/** undefined when there is no person. */
export function createAskPerson(context: CliContext): AskPerson | undefined {
  const { output, settings } = context;
  if (!output.interactive) return undefined;
  const question = approvalQuestion(settings.keys);
  return async (withdraw) => {
    for (;;) {
      const line = await askLine(context, question, withdraw);
      if (line === undefined) return { kind: withdraw.aborted ? "withdrawn" : "left" };
      const answer = readApproval(line, settings.keys);
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

/** undefined when there is no person. An empty line is not an answer. */
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

/** undefined when the person left, or the question was taken back. */
async function askLine({ output }: CliContext, question: string, withdraw: AbortSignal): Promise<string | undefined> {
  try {
    return await output.input().askLine(question, withdraw);
  } catch (thrown) {
    if (withdraw.aborted) return undefined;
    throw thrown;
  }
}
