/** command-set.ts -- the commands that an agent may use now, as the prompt, the reply reader, the server and the executor need them. */
import { describeForPrompt } from "#commands/describe.ts";
import type { RegisteredCommand } from "#commands/registry.ts";
import { type ArgsSchema, fail, succeed } from "#core/command.ts";
import { offersCommand } from "#core/command-profile.ts";
import type { FrameOrigin } from "#core/frame.ts";
import { type AgentState, activeFrame } from "#core/state.ts";
import type { Aliases } from "#reply/aliases.ts";
import { createArgumentChecker } from "#reply/check-call.ts";
import { createReplyReader, type ParsedReply } from "#reply/read.ts";
import { buildReplySchema } from "#reply/reply-schema.ts";

export interface CommandSet {
  get(name: string): RegisteredCommand | undefined;
  /** The commands as the prompt lists them. */
  readonly commandList: string;
  /** JSON schema of a reply, for servers that support strict schemas. */
  readonly replySchema: object;
  readReply(text: string, finishReason: string): ParsedReply;
  /** Checks a call that code made: names and types must be exact. Returns problems in words; none when it is valid. */
  checkArguments(name: string, args: unknown): readonly string[];
}

/** Returns the set of the frame that moves next. */
export type CommandsFor = (state: AgentState) => CommandSet;

export function createCommandSets(all: readonly RegisteredCommand[], aliases: Aliases): CommandsFor {
  const ofProfiles = new Map<string | null, CommandSet>();
  const ofRuns = new WeakMap<FrameOrigin, CommandSet>();
  const offered = ({ settings }: AgentState) => all.filter((command) => offersCommand(settings.commands, command));
  return (state) => {
    const { kind, origin } = activeFrame(state);
    if (kind !== "run" || !origin) {
      const { commands } = state.settings;
      const known = ofProfiles.get(commands) ?? createCommandSet(offered(state), all, aliases);
      if (ofProfiles.size >= MAX_PROFILES) ofProfiles.clear();
      ofProfiles.set(commands, known);
      return known;
    }
    const known =
      ofRuns.get(origin) ??
      createCommandSet(
        offered(state).map((command) => returning(command, origin)),
        all,
        aliases,
      );
    ofRuns.set(origin, known);
    return known;
  };
}

/** In a sub-task the closing command takes a typed result. */
function returning(command: RegisteredCommand, { returns }: FrameOrigin): RegisteredCommand {
  if (command.closesTurn !== true) return command;
  return {
    ...command,
    label: "Return the result",
    summary: "ends this task with its result.",
    args: { type: "object", properties: { result: returns }, required: ["result"] } as unknown as ArgsSchema,
    run: async ({ result }: Readonly<Record<string, unknown>>) => {
      const text = JSON.stringify(result);
      if (text.length <= MAX_RESULT_CHARS) return succeed(text, { source: "model" });
      const advice = "Write it to a file, and return what the schema allows, such as the file's name.";
      return fail("too-long", `The result has ${text.length} characters; ${MAX_RESULT_CHARS} are allowed. ${advice}`);
    },
  };
}

/** Cached sets of profiles; few agents have others. */
const MAX_PROFILES = 32;

/** A longer observation would be clipped (commands/execute.ts). */
const MAX_RESULT_CHARS = 20_000;

/** `whole`: the commands of all agents. */
function createCommandSet(
  all: readonly RegisteredCommand[],
  whole: readonly RegisteredCommand[],
  aliases: Aliases,
): CommandSet {
  const byName = new Map(all.map((command) => [command.name, command]));
  const get = (name: string) => byName.get(name);
  const catalogue = {
    schemas: Object.fromEntries(all.map((command) => [command.name, command.args])),
    hasSideEffect: (name: string) => get(name)?.annotations.readOnly !== true,
    aliases,
    closed: whole.flatMap(({ name }) => (byName.has(name) ? [] : [name])),
  };
  return {
    get,
    commandList: describeForPrompt(all),
    replySchema: buildReplySchema(all),
    readReply: createReplyReader(catalogue),
    checkArguments: createArgumentChecker(catalogue.schemas),
  };
}
