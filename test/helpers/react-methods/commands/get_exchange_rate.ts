import { asking } from "./_service.ts";

export default asking("rates", {
  name: "get_exchange_rate",
  summary: "gets the rate at which one currency is exchanged for another.",
  args: {
    base: { type: "string", description: "such as EUR" },
    currency: { type: "string", description: "such as USD" },
  },
  returns: { type: "number" },
});
