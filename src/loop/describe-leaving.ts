/** describe-leaving.ts -- the interface through which the loop asks `src/egress` for the text that calls would send out. */
import type { CommandCall } from "#core/call.ts";
import type { CarriedOrigin, Leaving } from "#core/leaving.ts";
import type { Journal } from "./journal.ts";

type Log = Pick<Journal, "state" | "head" | "eventsAfter" | "read">;

/**
 * One entry for each call, made when the call is requested; undefined when there is nothing to say. `received`: the origin of
 * text that the code which makes the calls has received, and which it could send in any form.
 */
export type DescribeLeaving = (
  calls: readonly CommandCall[],
  journal: Log,
  received?: CarriedOrigin,
) => Promise<readonly (Leaving | undefined)[]>;

/** The origin of text of the folder, memory or people in texts and files; undefined when there is none. */
export type FindCarried = (
  given: { readonly texts: readonly string[]; readonly files: readonly string[] },
  journal: Log,
) => Promise<CarriedOrigin | undefined>;

/** Of one agent. */
export interface LeavingParts {
  readonly describeLeaving: DescribeLeaving;
  readonly findCarried: FindCarried;
}
