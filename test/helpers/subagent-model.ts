/**
 * subagent-model.ts -- one model for several agents: it finds the agent's name in the system message and works through that agent's list.
 */
import type { CommandCall } from "#core/call.ts";
import { numberedModel } from "./numbered-model.ts";
import type { ChatRequest } from "./openai-answers.ts";

/** `calls` are lists by the agent's name; an agent without a list completes at once. */
export const subagentModel =
  (calls: Readonly<Record<string, readonly CommandCall[]>>) =>
  (request: ChatRequest): string =>
    numberedModel(calls[nameIn(request)] ?? [])(request);

/** Returns the name at the beginning of the system message, or in the job of an agent whose parent had read outside words. */
export function nameIn({ messages }: ChatRequest): string {
  const [system, job] = messages.map(({ content }) => content);
  const name = /You are ([^,]+),/.exec(system ?? "")?.[1] ?? "";
  return name === "Helper" ? (/^Name: (.+)$/m.exec(job ?? "")?.[1] ?? name) : name;
}

export const startAgent = (name: string, prompt = `Do the work of ${name}.`): CommandCall => ({
  name: "start_agent",
  args: { name, task: `helps as ${name}`, prompt },
});
export const messageAgent = (key: string, message: string): CommandCall => ({
  name: "message_agent",
  args: { key, message },
});
