/** list.ts -- all that `npm run test:security` proves, by area. */
import { ADVISORIES } from "./advisories.ts";
import { CODE } from "./code.ts";
import type { Defence } from "./defence.ts";
import { FINDINGS } from "./findings.ts";
import { HELD } from "./held.ts";

export const AREAS: Readonly<Record<string, readonly Defence[]>> = {
  "Advisories against AutoGPT": ADVISORIES,
  "Failures of the security review": FINDINGS,
  "Code that a model wrote": CODE,
  "What held in the security review": HELD,
};

export const DEFENCES: readonly Defence[] = Object.values(AREAS).flat();
