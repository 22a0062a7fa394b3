/** describe-leaving.ts -- the interface through which the loop asks `src/egress` what calls would send out. */
import type { CommandCall } from "#core/call.ts";
import type { Leaving } from "#core/leaving.ts";
import type { Journal } from "./journal.ts";

/** One entry for each call, made when the call is requested; undefined when there is nothing to say. */
export type DescribeLeaving = (
  calls: readonly CommandCall[],
  journal: Pick<Journal, "state" | "lease" | "head" | "eventsAfter" | "read" | "lastFileVersion">,
) => Promise<readonly (Leaving | undefined)[]>;
