/** languages.ts -- which languages the installed packages can run. Resolves them without loading them. */
import { createRequire } from "node:module";
import type { CellLanguage } from "#core/ports/sandbox.ts";

const PACKAGES: Readonly<Record<CellLanguage, readonly string[]>> = {
  python: ["pyodide"],
  javascript: ["quickjs-emscripten-core", "@jitl/quickjs-wasmfile-release-sync"],
};

/** `from`: the file from which packages are searched. */
export function findLanguages(from: string = import.meta.url): readonly CellLanguage[] {
  const { resolve } = createRequire(from);
  const isInstalled = (name: string): boolean => {
    try {
      return resolve(name) !== "";
    } catch {
      return false;
    }
  };
  return (["python", "javascript"] as const).filter((language) => PACKAGES[language].every(isInstalled));
}
