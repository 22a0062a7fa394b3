/** config-unset.ts -- `goald config unset`: removes one setting. */
import { SETTING } from "../option.ts";
import { configUnset } from "../shared/show-config.ts";
import { defineVerb } from "../verb.ts";

export const verb = defineVerb({
  name: "config unset",
  summary: "remove a setting from goald.json",
  description: "remove a setting from the home's config/goald.json",
  examples: ["goald config unset SMART_LLM"],
  arguments: [SETTING],
  run: ([name = ""], options) => configUnset(name, options),
});
