/**
 * message_agent -- sends a message to an agent that this agent started. A finished agent gets it as a new turn, a
 * working one at its next step.
 */
import { defineCommand, fail, wait } from "#core/command.ts";
import { described, nullable, open, text } from "#util/schema.ts";

export default defineCommand({
  name: "message_agent",
  label: "Message GPT Agent",
  group: "agents",
  summary: "gives a helper that you started more to do or to know; returns its answer, or that it is still working.",
  args: {
    type: "object",
    properties: {
      key: { type: "string", description: "the helper's key", minLength: 1, maxLength: 200 },
      message: {
        type: "string",
        description: "what it is to know or do",
        minLength: 1,
        maxLength: 8000,
      },
    },
    required: ["key", "message"],
  },
  annotations: { readOnly: false, destructive: false, idempotent: false, openWorld: false },
  returns: open({ key: text, answer: described(nullable(text), "null: it is still working") }),
  effect: "transactional",
  needs: ["agents"],

  async run({ key, message }, { stage, use }) {
    const agents = use("agents");
    const agent = await agents.child(key);
    if (!agent) return fail("no-such-agent", agents.unknown(key));
    if (!agent.listens)
      return fail(
        "agent-stopped",
        `${agent.name} (key ${agent.key}) is ${agent.standing}, and only a person can set it going again. It was told nothing.`,
      );
    stage({ kind: "tell", agent: agent.key, text: message });
    return wait("agent", agents.answerBy());
  },
});
