import { posting } from "./_service.ts";

export default posting(
  "slack/images",
  {
    name: "send_slack_image",
    summary: "sends the given picture and corresponding message to the Slack channel with the given name or id.",
    args: {
      img: { type: "string", description: "path of a picture" },
      msg: { type: "string", description: "text of the message" },
      channel: { type: "string", description: "name or id of the channel" },
    },
  },
  "img",
);
