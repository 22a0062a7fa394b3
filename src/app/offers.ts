/** offers.ts -- chooses the commands that an agent may use, and renders them for its requests. */
import { describeForPrompt } from "#commands/describe.ts";
import type { RegisteredCommand } from "#commands/registry.ts";
import type { AgentState } from "#core/state.ts";
import type { RequestOffer } from "#loop/ask-model.ts";
import { buildReplySchema } from "#reply/reply-schema.ts";

const ASKS_PERSON = "ask_user";

/**
 * Returns the offer for a state. It follows from the agent's settings alone, so that a replay makes the same one. An
 * agent that runs with `--approve never` is not offered to ask a person: it was started so that nobody is asked.
 */
export function createOffers(all: readonly RegisteredCommand[]): (state: Pick<AgentState, "settings">) => RequestOffer {
  const made = new Map<string, RequestOffer>();
  return ({ settings }) => {
    const offered = all.filter(({ name }) => name !== ASKS_PERSON || settings.approve !== "never");
    const key = offered.map(({ name }) => name).join(" ");
    const offer = made.get(key) ?? renderOffer(offered);
    made.set(key, offer);
    return offer;
  };
}

const renderOffer = (offered: readonly RegisteredCommand[]): RequestOffer => ({
  commandList: describeForPrompt(offered),
  asksPerson: offered.some(({ name }) => name === ASKS_PERSON),
  replySchema: buildReplySchema(offered),
});
