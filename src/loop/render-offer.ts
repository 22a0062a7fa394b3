/** render-offer.ts -- writes the commands that are offered to a model, and the methods that its searches found. */
import { describeForPrompt, describeFoundCommand } from "#commands/describe.ts";
import type { RegisteredCommand } from "#commands/registry.ts";
import { describeFunction } from "#commands/stubs.ts";
import type { FoundMethod } from "#core/ports/memory.ts";
import { buildReplySchema, buildTools } from "#reply/reply-schema.ts";
import type { CallableMethods } from "./callable-methods.ts";

/** Found commands are not in the list of commands, which stays the same so that a server can cache it. */
export function renderOffer(listed: readonly RegisteredCommand[], found: readonly RegisteredCommand[]) {
  const offered = [...listed, ...found];
  const [replySchema, tools] = [buildReplySchema(offered), buildTools(offered)];
  const formatChars = { replySchema: JSON.stringify(replySchema).length, tools: JSON.stringify(tools).length };
  return { commandList: describeForPrompt(listed), replySchema, tools, formatChars };
}

/** Newest first. */
export function renderFound(names: readonly string[], found: readonly RegisteredCommand[], callable: CallableMethods) {
  const functions = callable.describe(names);
  const ofCommands = new Set(found.map(({ name }) => name));
  const lines = (shown: readonly FoundMethod[]): string => shown.map(describeFunction).join("\n");
  return {
    foundCommands: found.map(describeFoundCommand).join("\n"),
    foundHelpers: lines(functions.filter(({ name }) => !ofCommands.has(name) && callable.isUnlisted(name))),
    found: functions.map(describeFunction),
  };
}
