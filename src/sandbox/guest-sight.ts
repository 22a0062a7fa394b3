/** guest-sight.ts -- what a cell process sees of goald and of the installed packages. */
import type { ProgramSight } from "#cage/node-program.ts";
import type { CellLanguage } from "#core/ports/sandbox.ts";

/** Also those that they need themselves. */
const PACKAGES: Readonly<Record<CellLanguage, readonly string[]>> = {
  python: ["pyodide"],
  javascript: ["quickjs-emscripten-core", "@jitl/quickjs-ffi-types", "@jitl/quickjs-wasmfile-release-sync"],
};

export const guestSight = (language: CellLanguage): ProgramSight => ({
  sources: ["sandbox", "cage/close-network", "cage/frames", "util/mebibyte"],
  packages: PACKAGES[language],
});
