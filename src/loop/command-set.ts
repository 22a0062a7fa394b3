/** command-set.ts -- the commands that an agent may use now, as the prompt, the reply reader, the server and the executor need them. */
import { describeForPrompt } from "#commands/describe.ts";
import type { RegisteredCommand } from "#commands/registry.ts";
import { type CodeFunctions, createCodeFunctions, describeFunction } from "#commands/stubs.ts";
import { MAX_OBSERVATION_CHARS } from "#core/call.ts";
import { BAD_RESULT, formOfFrame, isActionForm, isCellCommand, RUN_CODE } from "#core/cells.ts";
import { fail, succeed } from "#core/command.ts";
import { offersCommand } from "#core/command-profile.ts";
import type { FrameOrigin } from "#core/frame.ts";
import type { ReplySchema, Tool } from "#core/ports/model.ts";
import type { CellLanguage } from "#core/ports/sandbox.ts";
import { type AgentState, activeFrame } from "#core/state.ts";
import type { CommandOffer } from "#prompt/system.ts";
import type { Aliases } from "#reply/aliases.ts";
import { createArgumentChecker, createCallValidator } from "#reply/check-call.ts";
import { argumentsForResult, checkResult } from "#reply/check-result.ts";
import { createReplyReader, type ParsedReply } from "#reply/read.ts";
import { buildReplySchema } from "#reply/reply-schema.ts";
import { readSeveralCalls } from "#reply/several-calls.ts";
import { buildTools } from "#reply/tools.ts";

export interface CommandSet extends CommandOffer {
  get(name: string): RegisteredCommand | undefined;
  /** For servers that bind a reply to a schema. */
  readonly replySchema: ReplySchema;
  readonly tools: readonly Tool[];
  /** Characters of these two in a request. */
  readonly formatChars: Readonly<Record<"replySchema" | "tools", number>>;
  readReply(text: string, finishReason: string): ParsedReply;
  /** The same for native tool calls: several that only read are accepted. */
  readToolCalls(text: string, finishReason: string): ParsedReply;
  /** Checks a call that code made: names and types must be exact. Returns problems in words; none when it is valid. */
  checkArguments(name: string, args: unknown): readonly string[];
  /** The commands that code may call, listed or not. The command that ends the turn is not one of them. */
  functionsFor(language: CellLanguage): CodeFunctions;
  listFunctions(): string;
}

/** Returns the set of the frame that moves next. It follows from the state alone, so that a replay gets the same one. */
export type CommandsFor = (state: AgentState) => CommandSet;

export function createCommandSets(all: readonly RegisteredCommand[], aliases: Aliases): CommandsFor {
  const ofProfiles = new Map<string | null, CommandsFor>();
  const ofRuns = new WeakMap<FrameOrigin, { readonly profile: string | null; readonly sets: CommandsFor }>();
  const open = (profile: string | null, change = (command: RegisteredCommand) => command): CommandsFor => {
    const offered = all.filter((command) => offersCommand(profile, command));
    const closed = all.flatMap((command) => (offered.includes(command) ? [] : [command.name]));
    return createVariants(offered.map(change), closed, aliases);
  };
  return (state) => {
    const { kind, origin } = activeFrame(state);
    const profile = profileOf(state);
    if (kind !== "run" || !origin) {
      const sets = ofProfiles.get(profile) ?? open(profile);
      if (ofProfiles.size >= MAX_PROFILES) ofProfiles.clear();
      ofProfiles.set(profile, sets);
      return sets(state);
    }
    const known = ofRuns.get(origin);
    const sets = known?.profile === profile ? known.sets : open(profile, (command) => returning(command, origin));
    ofRuns.set(origin, { profile, sets });
    return sets(state);
  };
}

/** In the forms in which each reply is code, a profile restricts what the code may call. */
function profileOf(state: AgentState): string | null {
  const { commands } = state.settings;
  return commands !== null && isActionForm(formOfFrame(state)) ? `${commands},${RUN_CODE}` : commands;
}

/** In a sub-task the closing command takes a typed result. */
function returning(command: RegisteredCommand, { returns }: FrameOrigin): RegisteredCommand {
  if (command.closesTurn !== true) return command;
  return {
    ...command,
    label: "Return the result",
    summary: "ends this task with its result.",
    args: argumentsForResult(returns),
    run: async ({ result }: Readonly<Record<string, unknown>>) => {
      const problems = checkResult(returns, result);
      if (problems.length > 0) return fail(BAD_RESULT, problems.join(" "));
      const text = JSON.stringify(result);
      if (text.length <= MAX_OBSERVATION_CHARS) return succeed(text, { source: "model" });
      const advice = "Write it to a file, and return what the schema allows, such as the file's name.";
      return fail(
        "too-long",
        `The result has ${text.length} characters; ${MAX_OBSERVATION_CHARS} are allowed. ${advice}`,
      );
    },
  };
}

/** Cached sets of profiles; few agents have others. */
const MAX_PROFILES = 32;

const ASKS_PERSON = "ask_user";

/**
 * An agent with `--approve never` is not offered to ask a person: it was started so that nobody is asked. It can still
 * read and run that command, since a call may be older than a change of the settings.
 */
function createVariants(all: readonly RegisteredCommand[], closed: readonly string[], aliases: Aliases): CommandsFor {
  const byName = new Map(all.map((command) => [command.name, command]));
  const get = (name: string) => byName.get(name);
  const forModel = all.filter(({ isInternal }) => isInternal !== true);
  const schemasOf = (commands: readonly RegisteredCommand[]) =>
    Object.fromEntries(commands.map((command) => [command.name, command.args]));
  const catalogue = {
    schemas: schemasOf(forModel),
    hasSideEffect: (name: string) => get(name)?.annotations.readOnly !== true,
    isLonely: (name: string) =>
      get(name)?.annotations.readOnly !== true || get(name)?.closesTurn === true || name === ASKS_PERSON,
    aliases,
    closed,
  };
  const validator = createCallValidator(catalogue);
  const readReply = createReplyReader(catalogue, validator);
  const readToolCalls: CommandSet["readToolCalls"] = (text, finishReason) =>
    readSeveralCalls(text, finishReason, catalogue, validator) ?? readReply(text, finishReason);
  const checkArguments = createArgumentChecker({ ...catalogue, schemas: schemasOf(all) });
  const made = new Map<boolean, CommandSet>();
  return ({ settings }) => {
    const asksPerson = settings.approve !== "never" && byName.has(ASKS_PERSON);
    const offered = forModel.filter(({ name }) => asksPerson || name !== ASKS_PERSON);
    const set = made.get(asksPerson) ?? {
      get,
      readReply,
      readToolCalls,
      checkArguments,
      asksPerson,
      ...renderFunctions(offered, get),
      ...renderOffer(offered),
    };
    made.set(asksPerson, set);
    return set;
  };
}

/** Written at the first cell. */
function createFunctions(offered: readonly RegisteredCommand[]): CommandSet["functionsFor"] {
  const made = new Map<CellLanguage, CodeFunctions>();
  return (language) => {
    const known = made.get(language);
    if (known) return known;
    const callable = offered.filter(({ closesTurn }) => closesTurn !== true);
    const functions = createCodeFunctions(callable, language);
    made.set(language, functions);
    return functions;
  };
}

/** The functions, and the listed ones in words for the prompt, written at the first use. */
function renderFunctions(
  offered: readonly RegisteredCommand[],
  get: CommandSet["get"],
): Pick<CommandSet, "functionsFor" | "listFunctions"> {
  const functionsFor = createFunctions(offered);
  let list: string | undefined;
  const listFunctions = (): string => {
    const { all, callOf } = functionsFor("python");
    const isShown = (name: string): boolean =>
      !isCellCommand(name) && get(callOf(name, {})?.name ?? "")?.listed !== false;
    list ??= all
      .filter(({ name }) => isShown(name))
      .map((each) => `- ${describeFunction(each)}`)
      .join("\n");
    return list;
  };
  return { functionsFor, listFunctions };
}

function renderOffer(offered: readonly RegisteredCommand[]) {
  const [replySchema, tools] = [buildReplySchema(offered), buildTools(offered)];
  const formatChars = { replySchema: JSON.stringify(replySchema).length, tools: JSON.stringify(tools).length };
  return { commandList: describeForPrompt(offered), replySchema, tools, formatChars };
}
