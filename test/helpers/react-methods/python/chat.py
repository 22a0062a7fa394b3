"""Messages to Discord and Slack."""


def send_message_discord(msg: str, image: str = None) -> str:
    """Sends a message to Discord. An optional picture to send can be provided."""
    return post_message(path="discord", msg=msg, image=image)


def list_slack_channels() -> list:
    """Lists the Slack channels that can be written to."""
    return ask_service(path="slack/channels")


def send_slack_message(msg: str, channel_id: str) -> str:
    """Sends a message to the Slack channel with the specified id."""
    return post_message(path="slack/messages", msg=msg, channel_id=channel_id)


def send_slack_image(image: str, msg: str, channel_id: str) -> str:
    """Sends the given picture and corresponding message to the Slack channel with the given id."""
    return post_message(path="slack/messages", msg=msg, channel_id=channel_id, image=image)
