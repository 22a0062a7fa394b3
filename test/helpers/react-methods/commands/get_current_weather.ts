import type { CommandContext } from "#core/command.ts";
import { get, observe } from "./_service.ts";

export default {
  name: "get_current_weather",
  summary: "gets the weather at the given coordinates as it is now: temperature and conditions.",
  listed: false,
  args: {
    type: "object",
    properties: {
      latitude: { type: "number", description: "degrees north" },
      longitude: { type: "number", description: "degrees east" },
    },
    required: ["latitude", "longitude"],
  },
  returns: {
    type: "object",
    properties: { temperature: { type: "number" }, conditions: { type: "string" } },
    required: ["temperature", "conditions"],
  },
  annotations: { readOnly: true, destructive: false, idempotent: true, openWorld: true },
  sends: ["latitude", "longitude"],
  effect: "pure",

  run: async (args: Readonly<Record<string, unknown>>, context: CommandContext) =>
    observe(await get("weather", args, context.signal)),
};
