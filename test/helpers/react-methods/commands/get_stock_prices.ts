import type { CommandContext } from "#core/command.ts";
import { get, observe } from "./_service.ts";

export default {
  name: "get_stock_prices",
  summary: "gets the daily closing prices of a stock between two dates.",
  listed: false,
  args: {
    type: "object",
    properties: {
      symbol: { type: "string", description: "such as MSFT" },
      first_day: { type: "string", description: "such as 2026-01-31" },
      last_day: { type: "string", description: "such as 2026-02-28" },
    },
    required: ["symbol", "first_day", "last_day"],
  },
  returns: {
    type: "array",
    items: {
      type: "object",
      properties: { date: { type: "string" }, close: { type: "number" } },
      required: ["date", "close"],
    },
  },
  annotations: { readOnly: true, destructive: false, idempotent: true, openWorld: true },
  sends: ["symbol", "first_day", "last_day"],
  effect: "pure",

  run: async (args: Readonly<Record<string, unknown>>, context: CommandContext) =>
    observe(await get("stocks", args, context.signal)),
};
