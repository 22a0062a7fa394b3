/** new.ts -- `goald new`: groups the verbs that create something. */
import { defineVerb } from "../verb.ts";

export const verb = defineVerb({
  name: "new",
  group: "This home",
  summary: "create a command of your own",
  description: "create something of your own",
  examples: ["goald new command count_words"],
});
