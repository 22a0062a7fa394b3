import type { CommandContext } from "#core/command.ts";
import { get, observe } from "./_service.ts";

export default {
  name: "get_weather_forecast",
  summary: "gets the weather forecast for the next days at the given coordinates.",
  listed: false,
  args: {
    type: "object",
    properties: {
      latitude: { type: "number", description: "degrees north" },
      longitude: { type: "number", description: "degrees east" },
      days: { type: "integer", description: "number of days, up to 14" },
    },
    required: ["latitude", "longitude", "days"],
  },
  returns: {
    type: "array",
    items: {
      type: "object",
      properties: { date: { type: "string" }, temperature: { type: "number" }, conditions: { type: "string" } },
      required: ["date", "temperature", "conditions"],
    },
  },
  annotations: { readOnly: true, destructive: false, idempotent: true, openWorld: true },
  sends: ["latitude", "longitude", "days"],
  effect: "pure",

  run: async (args: Readonly<Record<string, unknown>>, context: CommandContext) =>
    observe(await get("forecast", args, context.signal)),
};
