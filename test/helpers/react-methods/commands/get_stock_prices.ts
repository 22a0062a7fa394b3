import { asking, every } from "./_service.ts";

export default asking("stocks", {
  name: "get_stock_prices",
  summary: "gets the daily closing prices of a stock between two dates.",
  args: {
    symbol: { type: "string", description: "such as MSFT" },
    first_day: { type: "string", description: "such as 2026-01-31" },
    last_day: { type: "string", description: "such as 2026-02-28" },
  },
  returns: { type: "array", items: every({ date: { type: "string" }, close: { type: "number" } }) },
});
