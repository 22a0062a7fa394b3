import { posting } from "./_service.ts";

export default posting("discord", {
  name: "send_message_discord",
  summary: "sends a message to Discord. An optional picture to send can be provided.",
  args: {
    msg: { type: "string", description: "text of the message" },
    image: { type: "string", description: "path of a picture" },
  },
  optional: ["image"],
});
