/**
 * ask-person.ts -- asks the person at the terminal whether the command that was just shown may run.
 */

import { approvalQuestion, readApproval } from "#cli/terminal/questions.ts";
import type { ForegroundParts } from "#host/foreground.ts";
import { clean } from "#util/clean.ts";
import type { CliContext } from "./context.ts";

/** The grammar of the answers is AutoGPT's. */
export type PersonSaid =
  | { readonly kind: "approved"; readonly count: number }
  | { readonly kind: "feedback"; readonly text: string }
  /** To the agent's own question. */
  | { readonly kind: "words"; readonly text: string }
  /** Stop here; nothing of it has run. */
  | { readonly kind: "no" }
  /** By Ctrl-C or the end of input. */
  | { readonly kind: "left" }
  /** The question was taken back before there was an answer. */
  | { readonly kind: "withdrawn" };

/** Resolves to what the person said; `withdraw` takes the question back. */
export type AskPerson = (withdraw: AbortSignal) => Promise<PersonSaid>;

/** undefined when there is no person. */
export function createAskPerson({ output, settings }: CliContext): AskPerson | undefined {
  if (!output.interactive) return undefined;
  const question = approvalQuestion(settings.keys);
  return async (withdraw) => {
    for (;;) {
      const line = await output
        .input()
        .askLine(question, withdraw)
        .catch((thrown: unknown) => {
          if (withdraw.aborted) return undefined;
          throw thrown;
        });
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

/** For an agent in this process. What was typed on at the set-up may answer the first question. */
export function askInForeground(context: CliContext): ForegroundParts["ask"] {
  const ask = createAskPerson(context);
  if (!ask) return undefined;
  let isFirst = true;
  return async (_call, interrupt) => {
    // A second “y” must not approve what nobody has seen.
    if (!isFirst) context.output.input().dropTypedAhead();
    isFirst = false;
    const said = await ask(interrupt);
    return said.kind === "approved" || said.kind === "feedback" ? said : { kind: "leave" };
  };
}

/** The agent's own question. An empty line is no answer. */
export function createAskWords({ output, redact }: CliContext): ForegroundParts["askWords"] {
  if (!output.interactive) return undefined;
  return async (question, withdraw) => {
    output.say(redact(clean(`\nIt asks: ${question}`)));
    output.input().dropTypedAhead();
    for (;;) {
      const line = await output
        .input()
        .askLine("Your answer: ", withdraw)
        .catch((thrown: unknown) => {
          if (withdraw.aborted) return undefined;
          throw thrown;
        });
      if (line === undefined || line.trim() !== "") return line && clean(line).trim();
    }
  };
}
