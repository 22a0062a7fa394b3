/** reply-thoughts.ts -- the thoughts in a reply of the log, whatever form it has. */
import type { Message } from "#core/state.ts";
import { headOf } from "#core/text.ts";
import { readWrittenAction, thoughtIn } from "./find-call.ts";
import { parseShallowJson } from "./json.ts";
import { MAX_REPLY_CHARS } from "./read.ts";
import { splitAction } from "./split-action.ts";
import { createLiveThoughts, findThoughts, NO_THOUGHTS, type ThoughtName, type Thoughts } from "./thoughts.ts";

/** `form`: that of the message. Of a reply that is not valid JSON, the thoughts before the fault are returned. */
export function thoughtsInReply(reply: string, form: Message["form"]): Thoughts | null {
  if (form === "react" || form === "code") {
    const { thought } = splitAction(reply.slice(0, MAX_REPLY_CHARS), form);
    return thought === "" ? null : { ...NO_THOUGHTS, text: thought };
  }
  const object = parseShallowJson(reply.slice(reply.indexOf("{"), reply.lastIndexOf("}") + 1));
  return object === undefined ? readBeginning(reply) : findThoughts(object);
}

/** The newest thought of the replies among the messages, which the form `plan` has as an action; empty when there is none. */
export function lastThought(messages: readonly Message[]): string {
  const thoughts = messages.map(({ kind, form, text }) => {
    const action = form === "plan" ? readWrittenAction(headOf(text)) : undefined;
    const beside = kind === "reply" ? thoughtsInReply(headOf(text), form) : null;
    return (action && thoughtIn(action)) || beside?.speak || beside?.text || "";
  });
  return thoughts.findLast((thought) => thought.trim() !== "") ?? "";
}

function readBeginning(reply: string): Thoughts {
  const found = { ...NO_THOUGHTS } as Record<ThoughtName, string>;
  createLiveThoughts((name, piece) => {
    found[name] += piece;
  }).push(reply);
  return found;
}
