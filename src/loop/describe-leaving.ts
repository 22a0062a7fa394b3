/** describe-leaving.ts -- the interface through which the loop asks egress.ts what calls would send out. */
import type { CommandCall } from "#core/call.ts";
import type { Leaving } from "#core/policy.ts";
import type { Journal } from "./journal.ts";

/** Returns one entry for each call when it is requested; undefined when the call is within the rule. */
export type DescribeLeaving = (
  calls: readonly CommandCall[],
  journal: Pick<Journal, "state" | "lease" | "head" | "eventsAfter" | "read" | "lastFileVersion">,
) => Promise<readonly (Leaving | undefined)[]>;
