/** config-get.ts -- `goald config get`: prints one setting. */
import { flag, SETTING } from "../option.ts";
import { configGet } from "../shared/show-config.ts";
import { defineVerb } from "../verb.ts";

export const verb = defineVerb({
  name: "config get",
  summary: "print a setting; for a key, whether it is set",
  examples: ["goald config get models.smart"],
  arguments: [SETTING],
  options: { showOrigin: flag("--show-origin", "show where the value comes from") },
  exitCodes: { usage: "wrong call, unknown setting or wrong value" },
  run: ([name = ""], options) => configGet(name, options),
});
