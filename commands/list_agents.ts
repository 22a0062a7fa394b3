/** list_agents -- lists the agents that this agent started: keys, tasks and states. */
import { defineCommand, succeed } from "#core/command.ts";
import { count, listOf, open, text } from "#util/schema.ts";

export default defineCommand({
  name: "list_agents",
  label: "List GPT Agents",
  group: "agents",
  summary: "lists the helpers that you started, with their keys and where they stand.",
  args: { type: "object", properties: {} },
  annotations: { readOnly: true, destructive: false, idempotent: true, openWorld: false },
  returns: listOf(open({ key: text, name: text, task: text, standing: text, step: count })),
  effect: "pure",
  needs: ["agents"],

  async run(_args, { use }) {
    const all = await use("agents").children();
    if (all.length === 0) return succeed("You have started no agents, or ended them all.", { value: [] });
    const lines = all.map(
      ({ key, name, task, standing, step }) => `${key}: ${name}, ${task} (${standing}, at step ${step})`,
    );
    const value = all.map(({ key, name, task, standing, step }) => ({ key, name, task, standing, step }));
    return succeed(`Your agents:\n${lines.join("\n")}`, { value });
  },
});
