/**
 * numbered-model.ts -- a model that works through a list of commands and decides by the prompt alone.
 *
 * The model continues after the highest numbered task in its own replies and in what it remembers of earlier turns, so the same prompt
 * always gets the same reply, also after the program was killed and restarted.
 */
import type { CommandCall } from "#core/call.ts";
import type { ChatRequest } from "./openai-answers.ts";

const SUBJECTS = ["strings", "rackets", "grips", "shoes", "balls", "courts", "coaches", "towels"] as const;
const VERBS = ["compare", "measure", "describe", "rank", "price", "photograph", "repair"] as const;

/** Returns `calls` in order, then task_complete. */
export const numberedModel =
  (calls: readonly CommandCall[]) =>
  (request: ChatRequest): string => {
    const next = highestTask(request) + 1;
    const call = calls[next - 1] ?? { name: "task_complete", args: { reason: `All ${calls.length} tasks are done.` } };
    return replyWith(call, `Task ${next} of ${calls.length}: I ${about(next)} with ${call.name}.`);
  };

/** The same in each turn, whatever it remembers of the one before. */
export const onceATurn =
  (calls: readonly CommandCall[]) =>
  ({ messages, ...request }: ChatRequest): string =>
    numberedModel(calls)({ ...request, messages: messages.filter((message) => !isTurnMemory(message)) });

const isTurnMemory = ({ content }: ChatRequest["messages"][number]): boolean =>
  content.startsWith("Your memory of turn");

/** Gives each task other words, because near-duplicates are not recalled twice. */
const about = (task: number): string =>
  `${VERBS[task % VERBS.length]} the ${SUBJECTS[task % SUBJECTS.length]} of chapter ${task * 37}`;

export function highestTask({ messages }: ChatRequest): number {
  const known = messages.filter((message) => message.role === "assistant" || isTurnMemory(message));
  const numbers = known
    .map(({ content }) => content)
    .join("\n")
    .matchAll(/Task (\d+) of|All (\d+) tasks are done/g);
  return Math.max(0, ...Array.from(numbers, ([, task, all]) => Number(task ?? all)));
}

export const replyWith = (command: CommandCall, text = "I go on."): string =>
  JSON.stringify({
    thoughts: { text, reasoning: "It is next.", plan: "- go on", criticism: "none", speak: `Now: ${command.name}.` },
    command,
  });

export const append = (text: string, file = "ledger.txt"): CommandCall => ({
  name: "append_to_file",
  args: { file, text },
});
export const write = (file: string, text: string): CommandCall => ({ name: "write_to_file", args: { file, text } });

/** Returns one append for each of the lines 1 to `count`. */
export const ledger = (count: number): readonly CommandCall[] =>
  Array.from({ length: count }, (_, at) => append(`line ${at + 1}\n`));
export const ledgerText = (count: number): string =>
  Array.from({ length: count }, (_, at) => `line ${at + 1}\n`).join("");
