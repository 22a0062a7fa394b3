/**
 * delete_agent -- ends an agent that this agent started.
 *
 * The agent stops before its next step and returns the unspent part of its limits. Its files and log stay.
 */
import { defineCommand, fail, succeed } from "#core/command.ts";

export default defineCommand({
  name: "delete_agent",
  label: "Delete GPT Agent",
  group: "agents",
  summary: "ends a helper that you started; its files stay, and you get back what it has not spent.",
  args: {
    type: "object",
    properties: {
      key: { type: "string", description: "the helper's key", minLength: 1, maxLength: 200 },
    },
    required: ["key"],
  },
  annotations: { readOnly: false, destructive: false, idempotent: true, openWorld: false },
  effect: "transactional",
  needs: ["agents"],

  async run({ key }, { stage, use }) {
    const agents = use("agents");
    const agent = await agents.child(key);
    if (!agent) return fail("no-such-agent", agents.unknown(key));
    stage({ kind: "end", agent: agent.key });
    return succeed(`${agent.name} (key ${agent.key}) is ended. Its files stay in agents/${agent.key}.`);
  },
});
