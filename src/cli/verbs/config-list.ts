/** config-list.ts -- `goald config list`: lists all settings. */
import { flag } from "../option.ts";
import { configList } from "../shared/show-config.ts";
import { defineVerb } from "../verb.ts";

export const verb = defineVerb({
  name: "config list",
  summary: "list every setting with its value",
  examples: ["goald config list", "goald config list --show-origin"],
  options: {
    showOrigin: flag(
      "--show-origin",
      "show where each value comes from: option, environment, .env, goald.json or default",
    ),
  },
  exitCodes: { usage: "wrong call, or a setting is wrong" },
  run: (_args, options) => configList(options),
});
