/**
 * warm-up.js -- compiles goald's modules once after `npm ci`, so that the first start is as fast as later ones.
 *
 * Stripping types takes time, and 25 MB in a process that runs for days. A failure here does not fail the
 * installation, because the first start compiles by itself. Flags and folder are those of src/goald.js.
 */
import { globSync } from "node:fs";
import * as module from "node:module";
import { fileURLToPath } from "node:url";
import * as v8 from "node:v8";

try {
  v8.setFlagsFromString("--semi-space-growth-factor=1");
  module.enableCompileCache(fileURLToPath(new URL("../node_modules/.cache/goald", import.meta.url)));
  // A thread's program is compiled, and then throws because it runs in no thread.
  for (const file of globSync(["src/**/*.ts", "commands/*.ts"])) await import(`../${file}`).catch(() => undefined);
  for (const name of ["ajv", "fastify", "openai", "pino"]) await import(name);
} catch {
  // Node is too old, or packages are missing.
}
