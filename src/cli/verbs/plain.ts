/** plain.ts -- `goald` without a verb. */
import { RUN_CODES } from "../exit-codes.ts";
import { defineVerb } from "../verb.ts";
import { plain } from "./start.ts";

export const verb = defineVerb({
  name: "plain",
  summary: "list agents at work; without any, do what goald start does",
  examples: ["goald"],
  exitCodes: RUN_CODES,
  run: (_args, options) => plain(options),
});
