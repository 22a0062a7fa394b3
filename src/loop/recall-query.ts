/**
 * recall-query.ts -- what an agent is busy with, for its long-term memory: its newest messages in parts that count differently.
 *
 * What it thinks says most of what it needs to know, the command it chose less, what came back is about what it knows
 * already. A person's words count like thoughts. Each message counts a little less than the next newer one. Pure.
 */
import type { RecallQuery } from "#core/ports/recall.ts";
import { type AgentState, activeFrame, type Message } from "#core/state.ts";
import { headOf } from "#core/text.ts";

interface Part {
  readonly text: string;
  readonly weight: number;
}

const WEIGHTS = { thoughts: 1, person: 1, command: 0.5, result: 0.3, goals: 0.3 } as const;
const OLDER_COUNTS = 0.9;
/** A result begins with what it is about. */
const RESULT_CHARS = 600;

/** Texts and their weights, newest last; the goals before all, which alone are there at the start. */
export function describeWork(state: AgentState): Required<Pick<RecallQuery, "texts" | "weights">> {
  const { window } = activeFrame(state);
  const parts: Part[] = [{ text: state.goals.join("\n"), weight: WEIGHTS.goals }];
  for (const [at, message] of window.entries()) {
    const age = OLDER_COUNTS ** (window.length - 1 - at);
    for (const { text, weight } of partsOf(message)) parts.push({ text, weight: weight * age });
  }
  return { texts: parts.map(({ text }) => text), weights: parts.map(({ weight }) => weight) };
}

/** State keeps its messages between steps: each is taken apart once. */
const known = new WeakMap<Message, readonly Part[]>();

function partsOf(message: Message): readonly Part[] {
  const found = known.get(message);
  if (found) return found;
  const parts = takeApart(message);
  known.set(message, parts);
  return parts;
}

function takeApart({ kind, text }: Message): readonly Part[] {
  const head = headOf(text);
  switch (kind) {
    case "reply":
      return ofReply(head);
    case "feedback":
    case "task":
      return [{ text: head, weight: WEIGHTS.person }];
    case "result":
    case "report":
    case "problem":
      return [{ text: head.slice(0, RESULT_CHARS).toWellFormed(), weight: WEIGHTS.result }];
  }
}

/** A reply that is not plain JSON is taken as it is: what is in it was read elsewhere, this only looks for words. */
function ofReply(text: string): readonly Part[] {
  const { thoughts, command } = parse(text);
  if (!thoughts && !command) return [{ text, weight: WEIGHTS.thoughts }];
  return [
    { text: wordsIn(command), weight: WEIGHTS.command },
    { text: wordsIn(thoughts), weight: WEIGHTS.thoughts },
  ];
}

function parse(text: string): { readonly thoughts?: unknown; readonly command?: unknown } {
  try {
    const reply: unknown = JSON.parse(text);
    return typeof reply === "object" && reply !== null ? reply : {};
  } catch {
    return {};
  }
}

/** The values, without the names that stand in every reply. */
function wordsIn(value: unknown): string {
  if (typeof value === "string") return value;
  if (typeof value !== "object" || value === null) return value === undefined || value === null ? "" : String(value);
  return Object.values(value)
    .map(wordsIn)
    .filter((words) => words !== "")
    .join("\n");
}
