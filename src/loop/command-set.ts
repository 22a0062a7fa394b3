/** command-set.ts -- the commands that an agent may use now, as the prompt, the reply reader, the server and the executor need them. */
import { describeForPrompt } from "#commands/describe.ts";
import type { RegisteredCommand } from "#commands/registry.ts";
import type { AgentState } from "#core/state.ts";
import type { Aliases } from "#reply/aliases.ts";
import { createReplyReader, type ParsedReply } from "#reply/read.ts";
import { buildReplySchema } from "#reply/reply-schema.ts";

export interface CommandSet {
  get(name: string): RegisteredCommand | undefined;
  /** The commands as the prompt lists them. */
  readonly commandList: string;
  /** JSON schema of a reply, for servers that support strict schemas. */
  readonly replySchema: object;
  readReply(text: string, finishReason: string): ParsedReply;
}

/** Returns the set of the frame that moves next. */
export type CommandsFor = (state: AgentState) => CommandSet;

export function createCommandSets(all: readonly RegisteredCommand[], aliases: Aliases): CommandsFor {
  const whole = createCommandSet(all, aliases);
  return () => whole;
}

function createCommandSet(all: readonly RegisteredCommand[], aliases: Aliases): CommandSet {
  const byName = new Map(all.map((command) => [command.name, command]));
  const get = (name: string) => byName.get(name);
  return {
    get,
    commandList: describeForPrompt(all),
    replySchema: buildReplySchema(all),
    readReply: createReplyReader({
      schemas: Object.fromEntries(all.map((command) => [command.name, command.args])),
      hasSideEffect: (name) => get(name)?.annotations.readOnly !== true,
      aliases,
    }),
  };
}
