import { asking, every } from "./_service.ts";

export default asking("coordinates", {
  name: "find_coordinates",
  summary: "looks up the geographic coordinates of a place, such as a city.",
  args: { place: { type: "string", description: "name of the place" } },
  returns: every({ latitude: { type: "number" }, longitude: { type: "number" } }),
});
