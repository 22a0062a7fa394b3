/** request-hash.ts -- the hash that identifies a model request in the log. */
import { hash } from "node:crypto";
import type { PromptMessage } from "#core/ports/model.ts";
import { rememberBy } from "#util/caches.ts";

/** SHA-256 of the JSON of model and messages, in hex. Caches each message's JSON: most messages recur in the next request. */
export function hashRequest(model: string, messages: readonly PromptMessage[]): string {
  return hash(
    "sha256",
    `{"model":${JSON.stringify(model)},"messages":[${messages.map((message) => jsonOf(message)).join(",")}]}`,
    "hex",
  );
}

const jsonOf = rememberBy((message: PromptMessage): string => JSON.stringify(message));
