/** do_nothing -- has no effect, for a model that must name some command. */
import { defineCommand, succeed } from "#core/command.ts";

export default defineCommand({
  name: "do_nothing",
  label: "Do Nothing",
  group: "loop",
  summary: "changes nothing and costs a step.",
  args: { type: "object", properties: {} },
  annotations: { readOnly: true, destructive: false, idempotent: true, openWorld: false },
  effect: "pure",

  async run() {
    return succeed("Nothing was done.");
  },
});
