import { posting } from "./_service.ts";

export default posting("slack/messages", {
  name: "send_slack_message",
  summary: "sends a message to the Slack channel with the specified id.",
  args: {
    msg: { type: "string", description: "text of the message" },
    channel_id: { type: "string", description: "id of the channel" },
  },
});
