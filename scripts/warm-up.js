/**
 * warm-up.js -- compiles goald's modules once, after `npm ci`, so that the first start is as quick and as small as the next.
 *
 * Stripping modules of their types takes time and, in a process that lives for days, 25 MB. Whatever goes wrong here
 * is no failure of the installation: the first start compiles by itself. Flags and folder are those of src/goald.js.
 */
import { globSync } from "node:fs";
import * as module from "node:module";
import { fileURLToPath } from "node:url";
import * as v8 from "node:v8";

try {
  v8.setFlagsFromString("--semi-space-growth-factor=1");
  module.enableCompileCache(fileURLToPath(new URL("../node_modules/.cache/goald", import.meta.url)));
  // The program of a thread is compiled, and then throws where it has none.
  for (const file of globSync(["src/**/*.ts", "commands/*.ts"])) await import(`../${file}`).catch(() => undefined);
  for (const name of ["fastify", "openai"]) await import(name);
} catch {
  // An old Node, or packages that are not there.
}
