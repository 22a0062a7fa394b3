/**
 * recall-query.ts -- builds the query to long-term memory from the newest messages, in weighted parts. Pure.
 *
 * Thoughts count most, because they contain what the agent needs to know; the chosen command counts less, results least. A
 * person's words count like thoughts; those that opened a later turn count at least as much as the goals. Each message counts a
 * little less than the next newer one.
 */

import type { RecallQuery } from "#core/ports/memory.ts";
import { type ActionForm, type AgentState, activeFrame, type Message } from "#core/state.ts";
import { headOf } from "#core/text.ts";
import { readWrittenAction, thoughtIn } from "#reply/find-call.ts";
import { parseShallowJson } from "#reply/json.ts";
import { splitAction } from "#reply/split-action.ts";
import { rememberBy } from "#util/caches.ts";

interface Part {
  readonly text: string;
  readonly weight: number;
}

const WEIGHTS = { thoughts: 1, person: 1, command: 0.5, result: 0.3, goals: 0.3 } as const;
const OLDER_COUNTS = 0.9;
/** Characters of a result that are used: results start with their topic. */
const RESULT_CHARS = 600;

/**
 * Texts and their weights, newest last. The goals come first and are the only text at the start. The words that opened the turn
 * come last, because the first texts of many are left out.
 */
export function describeWork(state: AgentState): Required<Pick<RecallQuery, "texts" | "weights">> {
  const { window } = activeFrame(state);
  const parts: Part[] = [{ text: state.goals.join("\n"), weight: WEIGHTS.goals }];
  for (const [at, message] of window.entries()) {
    const age = OLDER_COUNTS ** (window.length - 1 - at);
    for (const { text, weight } of partsOf(message)) parts.push({ text, weight: weight * age });
  }
  const asked = state.asked.map(({ text }) => headOf(text)).join("\n");
  if (asked !== "")
    parts.push({ text: asked, weight: Math.max(WEIGHTS.goals, WEIGHTS.person * OLDER_COUNTS ** window.length) });
  return { texts: parts.map(({ text }) => text), weights: parts.map(({ weight }) => weight) };
}

const partsOf = rememberBy(({ kind, text, form }: Message): readonly Part[] => {
  const head = headOf(text);
  switch (kind) {
    case "reply":
      if (form === "plan") return ofAction(head);
      return form ? ofProse(head, form) : ofReply(head);
    case "feedback":
    case "task":
      return [{ text: head, weight: WEIGHTS.person }];
    case "result":
    case "report":
    case "problem":
      return [{ text: head.slice(0, RESULT_CHARS).toWellFormed(), weight: WEIGHTS.result }];
  }
});

/** Splits a reply into thoughts and command. A reply that is not plain JSON is used as a whole. */
function ofReply(text: string): readonly Part[] {
  const { thoughts, command } = parse(text);
  if (!thoughts && !command) return [{ text, weight: WEIGHTS.thoughts }];
  return [
    { text: wordsIn(command), weight: WEIGHTS.command },
    { text: wordsIn(thoughts), weight: WEIGHTS.thoughts },
  ];
}

function ofProse(text: string, form: ActionForm): readonly Part[] {
  const { thought, code } = splitAction(text, form);
  return [
    ...(code === null ? [] : [{ text: code, weight: WEIGHTS.command }]),
    { text: thought, weight: WEIGHTS.thoughts },
  ];
}

/** A thought is an action of its own. */
function ofAction(text: string): readonly Part[] {
  const action = readWrittenAction(text);
  if (!action) return [{ text, weight: WEIGHTS.thoughts }];
  const thought = thoughtIn(action);
  return thought === ""
    ? [{ text: wordsIn(action), weight: WEIGHTS.command }]
    : [{ text: thought, weight: WEIGHTS.thoughts }];
}

function parse(text: string): { readonly thoughts?: unknown; readonly command?: unknown } {
  // Deeper nesting would overflow the stack in `wordsIn`.
  const reply = parseShallowJson(text);
  return typeof reply === "object" && reply !== null ? reply : {};
}

/** The values of the object, without the keys that every reply has. */
function wordsIn(value: unknown): string {
  if (typeof value === "string") return value;
  if (typeof value !== "object" || value === null) return value === undefined || value === null ? "" : String(value);
  return Object.values(value)
    .map(wordsIn)
    .filter((words) => words !== "")
    .join("\n");
}
