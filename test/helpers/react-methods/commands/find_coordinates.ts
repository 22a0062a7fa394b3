import type { CommandContext } from "#core/command.ts";
import { get, observe } from "./_service.ts";

export default {
  name: "find_coordinates",
  summary: "looks up the geographic coordinates of a place, such as a city.",
  listed: false,
  args: {
    type: "object",
    properties: { place: { type: "string", description: "name of the place" } },
    required: ["place"],
  },
  returns: {
    type: "object",
    properties: { latitude: { type: "number" }, longitude: { type: "number" } },
    required: ["latitude", "longitude"],
  },
  annotations: { readOnly: true, destructive: false, idempotent: true, openWorld: true },
  sends: ["place"],
  effect: "pure",

  run: async (args: Readonly<Record<string, unknown>>, context: CommandContext) =>
    observe(await get("coordinates", args, context.signal)),
};
