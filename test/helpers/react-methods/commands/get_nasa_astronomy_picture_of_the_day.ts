import { asking, every } from "./_service.ts";

export default asking("apod", {
  name: "get_nasa_astronomy_picture_of_the_day",
  summary: "gets the NASA Astronomy Picture of the Day (APOD): title, explanation and address.",
  returns: every({ title: { type: "string" }, explanation: { type: "string" }, url: { type: "string" } }),
});
