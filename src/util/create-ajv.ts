/** create-ajv.ts -- creates a validator of JSON Schema 2020-12. ajv has 63 modules, so the first validator loads it. */
import { createRequire } from "node:module";
import type { Options } from "ajv";
import type { Ajv2020 } from "ajv/dist/2020.js";

export function createAjv(options: Options): Ajv2020 {
  const ajv = createRequire(import.meta.url)("ajv/dist/2020.js") as typeof import("ajv/dist/2020.js");
  return new ajv.Ajv2020(options);
}
