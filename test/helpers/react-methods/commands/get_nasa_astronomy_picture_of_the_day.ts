import type { CommandContext } from "#core/command.ts";
import { get, observe } from "./_service.ts";

export default {
  name: "get_nasa_astronomy_picture_of_the_day",
  summary: "gets the NASA Astronomy Picture of the Day (APOD): title, explanation and address.",
  listed: false,
  args: { type: "object", properties: {} },
  returns: {
    type: "object",
    properties: { title: { type: "string" }, explanation: { type: "string" }, url: { type: "string" } },
    required: ["title", "explanation", "url"],
  },
  annotations: { readOnly: true, destructive: false, idempotent: true, openWorld: true },
  sends: [],
  effect: "pure",

  run: async (args: Readonly<Record<string, unknown>>, context: CommandContext) =>
    observe(await get("apod", args, context.signal)),
};
