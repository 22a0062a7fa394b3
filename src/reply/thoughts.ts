/**
 * thoughts.ts -- what the model was thinking, for people, the log and memory.
 *
 * Nothing acts on thoughts, so any shape will do and none is an error: a missing field is
 * the empty string, a list becomes lines, a plain string is the text.
 */
import { wellFormed } from "#core/text.ts";
import { isRecord } from "./json.ts";

/** Each "" when the model left it out. */
export interface Thoughts {
  readonly text: string;
  readonly reasoning: string;
  readonly plan: string;
  readonly criticism: string;
  readonly speak: string;
}
export const NO_THOUGHTS: Thoughts = { text: "", reasoning: "", plan: "", criticism: "", speak: "" };

/** The thoughts of one object of the reply, or null when it holds none. */
export function thoughtsOf(value: unknown, layer = 0): Thoughts | null {
  if (Array.isArray(value)) return value.length > 0 ? thoughtsOf(value[0], layer + 1) : null;
  if (!isRecord(value) || layer > 2) return null;
  const thoughts = field(value, "thoughts") ?? field(value, "thought");
  if (thoughts !== undefined) return readThoughts(thoughts);
  const items = Object.values(value);
  return items.length === 1 ? thoughtsOf(items[0], layer + 1) : null;
}

function readThoughts(thoughts: unknown): Thoughts {
  if (!isRecord(thoughts)) return { ...NO_THOUGHTS, text: asText(thoughts) };
  const part = (name: string): string => asText(field(thoughts, name));
  return {
    text: part("text"),
    reasoning: part("reasoning"),
    plan: part("plan"),
    criticism: part("criticism"),
    speak: part("speak"),
  };
}

function field(record: Readonly<Record<string, unknown>>, name: string): unknown {
  const key = Object.keys(record).find((candidate) => candidate.trim().toLowerCase() === name);
  return key === undefined ? undefined : record[key];
}

function asText(value: unknown): string {
  if (value === undefined || value === null) return "";
  if (typeof value === "string") return wellFormed(value);
  if (Array.isArray(value)) return value.map(asText).join("\n");
  if (isRecord(value))
    return Object.entries(value)
      .map(([key, item]) => `${key}: ${asText(item)}`)
      .join("\n");
  return String(value);
}
