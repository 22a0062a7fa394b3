/**
 * start_agent -- starts a sub-agent with its own log, memory and folder, and a part of this agent's limits.
 *
 * The request is staged: the sub-agent is created in the commit that makes this call wait, or not at all.
 */
import { defineCommand, wait } from "#core/command.ts";
import { described, nullable, open, text } from "#util/schema.ts";

export default defineCommand({
  name: "start_agent",
  label: "Start GPT Agent",
  group: "agents",
  summary:
    "starts a helper that works by itself on a part of your limits. It sees nothing of what you see and cannot read your files; its own are in agents/<key>. Returns its key and its answer, or that it is still working.",
  args: {
    type: "object",
    properties: {
      name: { type: "string", description: "what to call it", minLength: 1, maxLength: 80 },
      task: {
        type: "string",
        description: "its job, in one short sentence",
        minLength: 1,
        maxLength: 500,
      },
      prompt: {
        type: "string",
        description: "everything that it needs to know",
        minLength: 1,
        maxLength: 8000,
      },
    },
    required: ["name", "task", "prompt"],
  },
  annotations: { readOnly: false, destructive: false, idempotent: false, openWorld: false },
  returns: open({ key: text, answer: described(nullable(text), "null: it is still working") }),
  effect: "transactional",
  needs: ["agents"],

  async run({ name, task, prompt }, { stage, use }) {
    stage({ kind: "start", name, task, prompt });
    return wait("agent", use("agents").answerBy());
  },
});
