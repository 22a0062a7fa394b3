import { asking, every } from "./_service.ts";

export default asking("slack/channels", {
  name: "list_slack_channels",
  summary: "lists the Slack channels that can be written to.",
  returns: { type: "array", items: every({ id: { type: "string" }, name: { type: "string" } }) },
});
