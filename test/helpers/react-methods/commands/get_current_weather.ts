import { asking, every } from "./_service.ts";

export default asking("weather", {
  name: "get_current_weather",
  summary: "gets the weather at the given coordinates as it is now: temperature and conditions.",
  args: {
    latitude: { type: "number", description: "degrees north" },
    longitude: { type: "number", description: "degrees east" },
  },
  returns: every({ temperature: { type: "number" }, conditions: { type: "string" } }),
});
