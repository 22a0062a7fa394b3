import { asking, every } from "./_service.ts";

export default asking("forecast", {
  name: "get_weather_forecast",
  summary: "gets the weather forecast for the next days at the given coordinates.",
  args: {
    latitude: { type: "number", description: "degrees north" },
    longitude: { type: "number", description: "degrees east" },
    days: { type: "integer", description: "number of days, up to 14" },
  },
  returns: {
    type: "array",
    items: every({ date: { type: "string" }, temperature: { type: "number" }, conditions: { type: "string" } }),
  },
});
