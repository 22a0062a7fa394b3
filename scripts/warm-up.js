/**
 * warm-up.js -- compiles goald's modules after npm has changed node_modules, so that the first start is fast, too.
 *
 * Stripping types takes time, and 25 MB in a process that runs for days. A failure here does not fail the
 * installation, because the first start compiles by itself. Flags and folder are those of src/goald.js.
 */
import * as fs from "node:fs";
import * as module from "node:module";
import { fileURLToPath } from "node:url";
import * as v8 from "node:v8";

try {
  v8.setFlagsFromString("--semi-space-growth-factor=1");
  module.enableCompileCache(fileURLToPath(new URL("../node_modules/.cache/goald", import.meta.url)));
  // A thread's program is compiled, and then throws because it runs in no thread.
  for (const file of fs.globSync(["src/**/*.ts", "commands/*.ts"])) await import(`../${file}`).catch(() => undefined);
  for (const name of ["ajv", "fastify", "openai", "pino"]) await import(name);
} catch {
  // Node is too old, or packages are missing.
}
