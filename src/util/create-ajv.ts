/** create-ajv.ts -- creates a validator of JSON schemas. ajv has 63 modules, so the first validator loads it. */
import { createRequire } from "node:module";
import type { Ajv, Options } from "ajv";

export function createAjv(options: Options): Ajv {
  const ajv = createRequire(import.meta.url)("ajv") as typeof import("ajv");
  return new ajv.Ajv(options);
}
