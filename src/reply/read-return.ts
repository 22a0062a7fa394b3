/** read-return.ts -- reads the answer of a sub-task that was given as text, as its type asks for it. */
import type { JsonSchema } from "#core/command.ts";
import { typesOf } from "#core/json-schema.ts";
import { parseJson } from "./json.ts";

const NUMBER = /^[+-]?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?$/i;

/**
 * A text stays a text where the type allows one. Anything else must be JSON, with or without a fence, or a plain number. What is
 * neither comes back as it is, and so fails the check of its type.
 */
export function readReturn(text: string, returns: JsonSchema): unknown {
  const answer = text.trim();
  const types = typesOf(returns);
  if (types.length > 0 && types.every((type) => type === "string" || type === "null"))
    return answer === "null" && types.includes("null") ? null : answer;
  const inner = /^```\w*\n([\s\S]*?)\n?```$/.exec(answer)?.[1]?.trim() ?? answer;
  const value = parseJson(inner);
  if (value !== undefined) return value;
  return NUMBER.test(inner) ? Number(inner) : answer;
}
