/**
 * perform.ts -- turns a move into work: an intent to write first, and an action to do then.
 *
 * `prepare` reads what it needs and changes nothing. The main loop commits the returned intent
 * before `act` begins; `act` returns the result as events. The first command loads what runs commands, so that it does
 * not delay the first request.
 */
import type { Move } from "#core/decide.ts";
import { type AskParts, ask, read } from "./ask-model.ts";
import type { Journal } from "./journal.ts";
import type { CommandParts } from "./run-command.ts";
import type { Work } from "./work.ts";

export type PerformParts = AskParts & CommandParts;
export type Prepare = (
  move: Extract<Move, { kind: "ask" | "read" | "execute" | "probe" }>,
  journal: Journal,
) => Promise<Work>;

export function createPrepare(parts: PerformParts): Prepare {
  // An import that is repeated at each step costs 3 % of the step.
  let commands: typeof import("./run-command.ts") | undefined;
  return async (move, journal) => {
    switch (move.kind) {
      case "ask":
        return ask(move, journal, parts);
      case "read":
        return read(move, journal, parts);
      case "execute":
        commands ??= await import("./run-command.ts");
        return commands.execute(move, journal, parts);
      case "probe":
        commands ??= await import("./run-command.ts");
        return commands.probe(move, journal, parts);
    }
  };
}
