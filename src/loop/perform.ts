/**
 * perform.ts -- from a move to work: what to write first, and what to do then.
 *
 * `prepare` looks at the world and changes nothing; the intent that it returns is
 * committed by the main loop before `act` begins. `act` returns what came back, as events.
 */
import type { Move } from "#core/decide.ts";
import { type AskParts, ask, read } from "./ask-model.ts";
import type { Journal } from "./journal.ts";
import { type CommandParts, execute, probe } from "./run-command.ts";
import type { Work } from "./work.ts";

export type PerformParts = AskParts & CommandParts;
export type Prepare = (
  move: Extract<Move, { kind: "ask" | "read" | "execute" | "probe" }>,
  journal: Journal,
) => Promise<Work>;

export function createPrepare(parts: PerformParts): Prepare {
  return (move, journal) => {
    switch (move.kind) {
      case "ask":
        return ask(move, journal, parts);
      case "read":
        return read(move, journal, parts);
      case "execute":
        return execute(move, journal, parts);
      case "probe":
        return probe(move, journal, parts);
    }
  };
}
