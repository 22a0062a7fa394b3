/** config-set.ts -- `goald config set`: writes one setting. */
import { SETTING } from "../option.ts";
import { configSet } from "../shared/show-config.ts";
import { defineVerb } from "../verb.ts";

export const verb = defineVerb({
  name: "config set",
  summary: "write a setting into goald.json",
  description: "write a setting into the home's config/goald.json",
  examples: [
    "goald config set limits.unattendedSteps 50",
    "goald config set SMART_LLM gpt-4.1-mini",
    "goald config set temperature none",
  ],
  arguments: [SETTING, { name: "<value>", about: "the new value; none: no value, where that is possible" }],
  run: ([name = "", value = ""], options) => configSet(name, value, options),
});
