import { asking } from "./_service.ts";

export default asking("emoji", {
  name: "describe_emoji",
  summary: "gives the name and meaning of an emoji.",
  args: { emoji: { type: "string", description: "one character" } },
});
