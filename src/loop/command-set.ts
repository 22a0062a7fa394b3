/** command-set.ts -- the commands that an agent may use now, as the prompt, the reply reader, the server and the executor need them. */
import { describeForPrompt } from "#commands/describe.ts";
import type { RegisteredCommand } from "#commands/registry.ts";
import type { ReplySchema } from "#core/ports/model.ts";
import type { AgentState } from "#core/state.ts";
import type { CommandOffer } from "#prompt/system.ts";
import type { Aliases } from "#reply/aliases.ts";
import { createReplyReader, type ParsedReply } from "#reply/read.ts";
import { buildReplySchema } from "#reply/reply-schema.ts";

export interface CommandSet extends CommandOffer {
  get(name: string): RegisteredCommand | undefined;
  /** For servers that bind a reply to a schema. */
  readonly replySchema: ReplySchema;
  readReply(text: string, finishReason: string): ParsedReply;
}

/** Returns the set of the frame that moves next. It follows from the state alone, so that a replay gets the same one. */
export type CommandsFor = (state: AgentState) => CommandSet;

const ASKS_PERSON = "ask_user";

/**
 * An agent with `--approve never` is not offered to ask a person: it was started so that nobody is asked. Every set
 * still reads and runs all commands, since a call may be older than a change of the settings.
 */
export function createCommandSets(all: readonly RegisteredCommand[], aliases: Aliases): CommandsFor {
  const byName = new Map(all.map((command) => [command.name, command]));
  const get = (name: string) => byName.get(name);
  const readReply = createReplyReader({
    schemas: Object.fromEntries(all.map((command) => [command.name, command.args])),
    hasSideEffect: (name) => get(name)?.annotations.readOnly !== true,
    aliases,
  });
  const made = new Map<string, CommandSet>();
  return ({ settings }) => {
    const offered = all.filter(({ name }) => name !== ASKS_PERSON || settings.approve !== "never");
    const key = offered.map(({ name }) => name).join(" ");
    const set = made.get(key) ?? { get, readReply, ...renderOffer(offered) };
    made.set(key, set);
    return set;
  };
}

const renderOffer = (offered: readonly RegisteredCommand[]) => ({
  commandList: describeForPrompt(offered),
  asksPerson: offered.some(({ name }) => name === ASKS_PERSON),
  replySchema: buildReplySchema(offered),
});
