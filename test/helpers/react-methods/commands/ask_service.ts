import type { CommandContext } from "#core/command.ts";
import { get, observe } from "./_service.ts";

export default {
  name: "ask_service",
  summary: "asks a service of this home for JSON.",
  listed: false,
  args: {
    type: "object",
    properties: {
      path: { type: "string" },
      query: { type: "string", description: "names and values as in an address" },
    },
    required: ["path"],
  },
  annotations: { readOnly: true, openWorld: true },
  sends: ["query"],
  effect: "pure",

  run: async ({ path, query = "" }: { readonly path: string; readonly query?: string }, { signal }: CommandContext) =>
    observe(await get(path, Object.fromEntries(new URLSearchParams(query)), signal)),
};
