/** reply-thoughts.ts -- the thoughts in a reply of the log, whatever form it has. */
import type { Message } from "#core/frame.ts";
import { parseJson } from "./json.ts";
import { splitAction } from "./split-action.ts";
import { createLiveThoughts, findThoughts, NO_THOUGHTS, type ThoughtName, type Thoughts } from "./thoughts.ts";

/** `form`: that of the message. Of a reply that is not valid JSON, the thoughts before the fault are returned. */
export function thoughtsInReply(reply: string, form: Message["form"]): Thoughts | null {
  if (form === "react" || form === "code") {
    const { thought } = splitAction(reply, form);
    return thought === "" ? null : { ...NO_THOUGHTS, text: thought };
  }
  const object = parseJson(reply.slice(Math.max(0, reply.indexOf("{")), reply.lastIndexOf("}") + 1));
  return object === undefined ? readBeginning(reply) : findThoughts(object);
}

function readBeginning(reply: string): Thoughts {
  const found = { ...NO_THOUGHTS } as Record<ThoughtName, string>;
  createLiveThoughts((name, piece) => {
    found[name] += piece;
  }).push(reply);
  return found;
}
