/** parsed-reply.ts -- what a model's reply says: its command, or the problems with it. */
import type { CommandCall } from "#core/call.ts";
import type { Thoughts } from "./thoughts.ts";

export type ParsedReply =
  | {
      readonly kind: "command";
      readonly call: CommandCall;
      /** Native tool calls after the first one, in order; absent for none. */
      readonly further?: readonly FurtherCall[];
      readonly thoughts: Thoughts;
      /** True when the JSON was mended. */
      readonly repaired: boolean;
    }
  | {
      readonly kind: "problem";
      /** One to five sentences for the model, each with fault and remedy. */
      readonly problems: readonly string[];
      readonly thoughts: Thoughts | null;
      /** The command that was meant, when only its arguments are at fault. */
      readonly command?: string;
      /** A name that the reply calls and that no command has. */
      readonly unknownName?: string;
    };

/** `thought`: its own argument; empty when it has none. */
export interface FurtherCall {
  readonly call: CommandCall;
  readonly thought: string;
}

/** Counted without blanks at both ends. */
export const MAX_REPLY_CHARS = 2_000_000;
const MAX_PROBLEMS = 5;

export const refuseReply = (thoughts: Thoughts | null, ...problems: readonly string[]): ParsedReply => ({
  kind: "problem",
  problems: [...new Set(problems)].slice(0, MAX_PROBLEMS),
  thoughts,
});
