/** guest-sight.ts -- what a cell process sees of goald and of the installed packages. */
import type { ProgramSight } from "#cage/node-program.ts";

export const GUEST_SIGHT: ProgramSight = {
  sources: ["sandbox", "cage/close-network", "cage/frames", "util/mebibyte"],
  packages: ["pyodide"],
};
