/** config.ts -- `goald config`: the verbs that show and change settings. */
import { defineVerb } from "../verb.ts";

export const verb = defineVerb({
  name: "config",
  group: "This home",
  summary: "show and change settings",
  examples: [
    "goald config list --show-origin",
    "goald config get models.smart",
    "goald config set openai.baseUrl http://127.0.0.1:11434/v1",
    "goald config unset SMART_LLM",
  ],
});
