/** request-hash.ts -- the hash that identifies a model request in the log. */
import { hash } from "node:crypto";
import type { PromptMessage } from "#core/ports/model.ts";

/** SHA-256 of the JSON of model and messages, in hex. Caches each message's JSON: most messages recur in the next request. */
export function hashRequest(model: string, messages: readonly PromptMessage[]): string {
  return hash("sha256", `{"model":${JSON.stringify(model)},"messages":[${messages.map(jsonOf).join(",")}]}`, "hex");
}

const known = new WeakMap<PromptMessage, string>();

function jsonOf(message: PromptMessage): string {
  const found = known.get(message);
  if (found !== undefined) return found;
  const json = JSON.stringify(message);
  known.set(message, json);
  return json;
}
