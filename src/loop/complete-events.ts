/** complete-events.ts -- adds to a decided event what only the log or the folder knows: the script of a question, the memory of a turn. */
import type { NewEvent } from "#core/event.ts";
import { withScript } from "./ask-about-script.ts";
import type { Journal, Outcome } from "./journal.ts";
import type { RunParts } from "./run-parts.ts";

/** A question and the end of a turn are always decided alone. */
export async function completeEvents(
  events: readonly NewEvent[],
  journal: Journal,
  parts: Pick<RunParts, "readScript" | "keepText" | "rules">,
): Promise<Outcome> {
  const [event] = events;
  switch (event?.type) {
    case "approval-asked":
      return { events: [await withScript(event, journal, parts)] };
    case "turn-finished":
      return (await import("./remember-turn.ts")).rememberTurn(event, journal, parts);
    default:
      return { events };
  }
}
