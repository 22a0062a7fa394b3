/** open-call.ts -- a call that has begun and not ended, as the state keeps it, and what such calls reserve. */
import type { ScriptHash } from "./asked-script.ts";
import type { Annotations, CommandCall, Effect } from "./call.ts";
import type { OutputMode } from "./event.ts";
import type { Deed, EndedRun, NestedResult } from "./frame.ts";
import type { Leaving } from "./leaving.ts";
import type { OutsideSource } from "./provenance.ts";

/** A call that has begun and not ended. An intent whose epoch is older than the lease's was interrupted. */
export type OpenCall =
  | {
      readonly kind: "model";
      readonly callId: string;
      readonly frame: number;
      readonly step: number;
      readonly attempt: number;
      readonly epoch: number;
      readonly model: string;
      readonly mode: OutputMode;
      /** Possible charges that no other field counts; 0 once a failure is recorded. */
      readonly reservedTokens: number;
      readonly reservedUsd: number | null;
      /** The attempt has failed, and is counted. */
      readonly isSettled?: true;
    }
  | {
      readonly kind: "command";
      readonly callId: string;
      readonly frame: number;
      readonly step: number;
      readonly call: CommandCall;
      readonly thought: string;
      readonly leaving?: Leaving;
      /** Set when a person was asked about the file whose code the call runs. */
      readonly script?: ScriptHash;
      /** Results of nested work that has ended, in order of their ordinals; absent: none. */
      readonly results?: readonly NestedResult[];
      /** The last sub-tasks of this call that have ended, oldest first; absent: none. */
      readonly runs?: readonly EndedRun[];
      /** Cells in its sub-tasks that failed because nested work would have been too deep; absent: none. */
      readonly tooDeep?: number;
      /** The newest deed of its nested calls. */
      readonly did?: Deed;
      /** Absent until command-started, which has the number `seq`. */
      readonly intent?: {
        readonly seq: number;
        readonly attempt: number;
        readonly epoch: number;
        readonly at: string;
        readonly effect: Effect;
        readonly annotations: Annotations;
        readonly prepared: unknown;
        /** Sources of the outside words that `prepare` read; absent: none. */
        readonly outside?: readonly OutsideSource[];
        /** Newest epoch that found the call interrupted, so that one death counts once. */
        readonly seenInterruptedAt?: number;
        /** The most that the call may spend on models. */
        readonly reserved?: { readonly tokens: number; readonly usd: number | null };
      };
    };

/** The most that these calls may still cost. A model without a known price counts as free. */
export function reservedBy(calls: readonly OpenCall[]): { readonly tokens: number; readonly usd: number } {
  const reserved = calls.map((call) =>
    call.kind === "model" ? { tokens: call.reservedTokens, usd: call.reservedUsd } : call.intent?.reserved,
  );
  return {
    tokens: reserved.reduce((sum, each) => sum + (each?.tokens ?? 0), 0),
    usd: reserved.reduce((sum, each) => sum + (each?.usd ?? 0), 0),
  };
}
