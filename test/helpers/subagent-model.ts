/**
 * family-model.ts -- one model for several agents: each is known by the name in its system message, and works through its own list.
 */
import type { CommandCall } from "#core/call.ts";
import { numberedModel } from "./numbered-model.ts";
import type { ChatRequest } from "./openai-answers.ts";

/** `calls`: by the agent's name; one without a list says at once that it is done. */
export const subagentModel =
  (calls: Readonly<Record<string, readonly CommandCall[]>>) =>
  (request: ChatRequest): string =>
    numberedModel(calls[nameIn(request)] ?? [])(request);

/** As the first words of the system message have it. */
export const nameIn = ({ messages }: ChatRequest): string =>
  /You are ([^,]+),/.exec(messages[0]?.content ?? "")?.[1] ?? "";

export const startAgent = (name: string, prompt = `Do the work of ${name}.`): CommandCall => ({
  name: "start_agent",
  args: { name, task: `helps as ${name}`, prompt },
});
export const messageAgent = (key: string, message: string): CommandCall => ({
  name: "message_agent",
  args: { key, message },
});
