/** config-path.ts -- `goald config path`: prints the path of goald.json. */
import { configPath } from "../shared/show-config.ts";
import { defineVerb } from "../verb.ts";

export const verb = defineVerb({
  name: "config path",
  summary: "print the path of goald.json",
  description: "print the path of the home's config/goald.json, whether it exists or not",
  examples: ["goald config path"],
  run: (_args, options) => configPath(options),
});
