import { asking } from "./_service.ts";

export default asking("translation", {
  name: "translate_text",
  summary: "translates a text into another language.",
  args: {
    text: { type: "string", description: "what to translate" },
    language: { type: "string", description: "such as German" },
  },
});
