/**
 * start_agent -- starts a sub-agent with its own log, memory and folder, and a part of this agent's limits.
 *
 * The request is staged: the sub-agent is created in the commit that makes this call wait, or not at all.
 */
import { defineCommand, wait } from "#core/command.ts";

export default defineCommand({
  name: "start_agent",
  label: "Start GPT Agent",
  group: "agents",
  summary:
    "starts a helper that works by itself, with a part of your limits, in agents/<key> of your folder; returns its key and its answer, or that it is still working.",
  args: {
    type: "object",
    properties: {
      name: { type: "string", description: "What to call it", hint: "name", minLength: 1, maxLength: 80 },
      task: {
        type: "string",
        description: "Its job, in one short sentence",
        hint: "short_task_desc",
        minLength: 1,
        maxLength: 500,
      },
      prompt: {
        type: "string",
        description: "All that it needs to know: it sees nothing of what you see, and cannot read your files",
        hint: "prompt",
        minLength: 1,
        maxLength: 8000,
      },
    },
    required: ["name", "task", "prompt"],
  },
  annotations: { readOnly: false, destructive: false, idempotent: false, openWorld: false },
  effect: "transactional",
  needs: ["agents"],

  async run({ name, task, prompt }, { stage, use }) {
    stage({ kind: "start", name, task, prompt });
    return wait("agent", use("agents").answerBy());
  },
});
