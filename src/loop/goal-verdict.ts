/** goal-verdict.ts -- what a test of a goal found: whether it passed, and a sentence as proof, of one line and bounded. */
import { type CheckResult, MAX_PROOF_CHARS } from "#core/goal-check.ts";
import { oneLine } from "#core/text.ts";
import { clean } from "#util/outside-text.ts";

export type Verdict = Omit<CheckResult, "check">;

export const passes = (proof: string): Verdict => ({ isPassed: true, proof: toProof(proof) });
export const fails = (reason: string): Verdict => ({ isPassed: false, proof: toProof(reason) });

const toProof = (text: string): string => oneLine(clean(text).toWellFormed(), MAX_PROOF_CHARS);
