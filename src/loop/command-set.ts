/**
 * command-set.ts -- the commands that an agent may use now, as the prompt, the reply reader, the server and the
 * executor need them.
 */
import { createCodeFunctions, describeFunction } from "#commands/code-functions.ts";
import { describeForPrompt, describeFoundCommand } from "#commands/describe.ts";
import type { PythonModule } from "#commands/python-modules.ts";
import type { RegisteredCommand } from "#commands/registry.ts";
import { offersCommand } from "#core/agent-settings.ts";
import { MAX_OBSERVATION_CHARS } from "#core/call.ts";
import { ASK_USER, BAD_RESULT, fail, isActionForm, isCellCommand, RUN_CODE, succeed } from "#core/command.ts";
import type { OutputMode } from "#core/event.ts";
import type { FoundMethod, MethodText } from "#core/ports/memory.ts";
import type { ReplySchema, Tool } from "#core/ports/model.ts";
import { type AgentState, activeFrame, type FrameOrigin, formOfFrame } from "#core/state.ts";
import type { CommandOffer } from "#prompt/system.ts";
import type { Aliases } from "#reply/arrange-args.ts";
import { createArgumentChecker, createCallValidator } from "#reply/check-call.ts";
import { argumentsForResult, checkResult } from "#reply/check-value.ts";
import { thoughtIn } from "#reply/find-call.ts";
import { createReplyReader, type ParsedReply } from "#reply/read.ts";
import { createPlanReader, readSeveralCalls } from "#reply/read-forms.ts";
import { buildReplySchema, buildTools } from "#reply/reply-schema.ts";
import { thoughtsInReply } from "#reply/reply-thoughts.ts";
import { NO_THOUGHTS, type Thoughts } from "#reply/thoughts.ts";
import { cacheByKey, once, rememberBy } from "#util/caches.ts";

export interface CommandSet extends Omit<CommandOffer, "listFunctions">, Pick<CallableMethods, "listFunctions"> {
  get(name: string): RegisteredCommand | undefined;
  /** For servers that bind a reply to a schema. */
  readonly replySchema: ReplySchema;
  readonly tools: readonly Tool[];
  /** Characters of these two in a request. */
  readonly formatChars: Readonly<Record<"replySchema" | "tools", number>>;
  readReply(text: string, finishReason: string): ParsedReply;
  /** The thoughts of a reply to a request of that mode, for people; null when it has none. */
  readThoughts(text: string, finishReason: string, mode: OutputMode): Thoughts | null;
  /** The same for native tool calls: several that only read are accepted. */
  readToolCalls(text: string, finishReason: string): ParsedReply;
  /** The same for an action of the form `plan`. */
  readAction(text: string, finishReason: string): ParsedReply;
  /** Checks a call that code made: names and types must be exact. Returns problems in words; none when it is valid. */
  checkArguments(name: string, args: unknown): readonly string[];
  /** The functions that code may call: commands, listed or not, and Python helpers. The command that ends the turn is not one of them. */
  readonly callable: CallableMethods;
  /** The Python helpers of the home, which each Python namespace defines. */
  readonly modules: readonly PythonModule[];
}

/** Returns the set of the frame that moves next. It follows from the state alone, so that a replay gets the same one. */
export type CommandsFor = (state: AgentState) => CommandSet;

/** `modules`: the Python helpers of the home. `maxDepth`: of sub-agents. */
export function createCommandSets(
  all: readonly RegisteredCommand[],
  aliases: Aliases,
  modules: readonly PythonModule[] = [],
  maxDepth = Number.POSITIVE_INFINITY,
): CommandsFor {
  const open = (profile: string | null, change = (command: RegisteredCommand) => command): CommandsFor => {
    const offered = all.filter((command) => offersCommand(profile, command));
    const closed = all.flatMap((command) => (offered.includes(command) ? [] : [command.name]));
    return createVariants(offered.map(change), { closed, aliases, modules }, maxDepth);
  };
  const ofProfile = cacheByKey((profile: string | null) => open(profile), MAX_PROFILES);
  const ofRun = rememberBy((origin: FrameOrigin, profile: string | null) =>
    open(profile, (command) => returning(command, origin)),
  );
  return (state) => {
    const { kind, origin } = activeFrame(state);
    const profile = profileOf(state);
    if (kind === "run" && origin) return ofRun(origin, profile)(state);
    return ofProfile(profile)(state);
  };
}

/** In the forms in which each reply is code, a profile restricts what the code may call. An action begins with a search. */
function profileOf(state: AgentState): string | null {
  const { commands } = state.settings;
  const form = formOfFrame(state);
  if (commands === null || !isActionForm(form)) return commands;
  return [commands, RUN_CODE, ...(form === "react" ? [METHOD_SEARCH] : [])].join(",");
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

interface Around {
  /** Names of the commands outside the profile. */
  readonly closed: readonly string[];
  readonly aliases: Aliases;
  readonly modules: readonly PythonModule[];
}

/**
 * An agent with `--approve never` is not offered to ask a person, and one that has no sub-agents and may start none is not
 * offered commands for them. Method search is offered while it can find something that the prompt lacks. The agent can still
 * read and run such a command, since a call may be older than a change of the settings.
 */
function createVariants(all: readonly RegisteredCommand[], around: Around, maxDepth: number): CommandsFor {
  const { modules } = around;
  const isUnlisted = ({ listed }: RegisteredCommand): boolean => listed === false;
  const hasUnlisted = modules.length > 0 || all.some(isUnlisted);
  const parts = createReaders(all, around);

  function openVariant(asksPerson: boolean, searches: boolean, leads: boolean) {
    const offered = all
      .filter(({ isInternal, needs }) => isInternal !== true && (leads || !needs.includes("agents")))
      .filter(({ name }) => (asksPerson || name !== ASK_USER) && (searches || name !== METHOD_SEARCH));
    const callable = createCallableMethods(offered, modules);
    const listed = offered.filter((command) => !isUnlisted(command));
    // The state keeps its list of found methods until a search finds others.
    return rememberBy((names: readonly string[]): CommandSet => {
      const found = names.flatMap((name) => offered.filter((command) => isUnlisted(command) && command.name === name));
      const { listFunctions } = callable;
      const methods = names.length === 0 ? {} : renderFound(names, found, callable);
      return { ...parts, callable, listFunctions, modules, asksPerson, ...renderOffer(listed, found), ...methods };
    });
  }

  const made = new Map<string, ReturnType<typeof openVariant>>();
  return (state) => {
    const asksPerson = state.settings.approve !== "never" && parts.get(ASK_USER) !== undefined;
    const searches = hasUnlisted || isActionForm(formOfFrame(state));
    const leads = (state.startedBy?.depth ?? 0) < maxDepth || Object.keys(state.children).length > 0;
    const key = `${asksPerson} ${searches} ${leads}`;
    const variant = made.get(key) ?? openVariant(asksPerson, searches, leads);
    made.set(key, variant);
    return variant(state.foundMethods.length === 0 ? NONE_FOUND : state.foundMethods);
  };
}

/** One list for all agents that found no methods, so that they share a set. */
const NONE_FOUND: readonly string[] = [];

function createReaders(all: readonly RegisteredCommand[], { closed, aliases }: Around) {
  const byName = new Map(all.map((command) => [command.name, command]));
  const get = (name: string) => byName.get(name);
  const schemasOf = (commands: readonly RegisteredCommand[]) =>
    Object.fromEntries(commands.map((command) => [command.name, command.args]));
  const catalogue = {
    schemas: schemasOf(all.filter(({ isInternal }) => isInternal !== true)),
    hasSideEffect: (name: string) => get(name)?.annotations.readOnly !== true,
    isHarmless: (name: string) =>
      get(name)?.annotations.readOnly === true && get(name)?.annotations.openWorld === false,
    isLonely: (name: string) =>
      get(name)?.annotations.readOnly !== true || get(name)?.closesTurn === true || name === ASK_USER,
    aliases,
    closed,
  };
  const validator = createCallValidator(catalogue);
  const readReply = createReplyReader(catalogue, validator);
  const readToolCalls: CommandSet["readToolCalls"] = (text, finishReason) =>
    readSeveralCalls(text, finishReason, catalogue, validator) ?? readReply(text, finishReason);
  const listed = all.filter((command) => command.isInternal !== true && command.listed !== false);
  const readAction = createPlanReader(
    catalogue,
    listed.map(({ name }) => name),
    validator,
  );
  const unnamed = all.flatMap(({ name, isInternal }) => (isInternal ? [name] : []));
  const checkArguments = createArgumentChecker({ ...catalogue, schemas: schemasOf(all), unnamed });
  const readThoughts: CommandSet["readThoughts"] = (text, finishReason, mode) => {
    if (isActionForm(mode)) return thoughtsInReply(text, mode);
    if (mode !== "plan") return readReply(text, finishReason).thoughts;
    const parsed = readAction(text, finishReason);
    // A thought that is an action is shown as one.
    return parsed.kind === "command" && thoughtIn(parsed.call) !== "" ? NO_THOUGHTS : parsed.thoughts;
  };
  return { get, readReply, readAction, readThoughts, readToolCalls, checkArguments };
}

const METHOD_SEARCH = "method_search";

type CallableMethods = ReturnType<typeof createCallableMethods>;

/** Code may call all that is offered, but for the command that ends the turn. */
function createCallableMethods(offered: readonly RegisteredCommand[], modules: readonly PythonModule[]) {
  const commands = offered.filter(({ closesTurn }) => closesTurn !== true);
  const unlisted = new Set(commands.flatMap(({ name, listed }) => (listed === false ? [name] : [])));
  const helpers = new Map(modules.flatMap(({ functions }) => functions.map((one) => [one.name, one] as const)));
  const shipped = new Set(commands.flatMap(({ name, group }) => (group === "own" ? [] : [name])));
  const commandFunctions = once(() => createCodeFunctions(commands));
  let texts: readonly MethodText[] | undefined;

  /** Leaves out names that do not exist. */
  function describe(names: readonly string[]): readonly FoundMethod[] {
    return names.flatMap((name) => {
      const found = commandFunctions().ofCommand(name) ?? helpers.get(name);
      return found ? [{ name, signature: found.signature, doc: found.doc }] : [];
    });
  }

  return {
    get functions() {
      return commandFunctions();
    },
    /** The functions that the code of an action may call: commands and Python helpers. */
    get allFunctions(): readonly FoundMethod[] {
      return [...commandFunctions().all, ...helpers.values()];
    },
    /** The listed commands as functions of Python, one a line, without those that run code. */
    listFunctions: (): string => {
      const shown = commands.filter(({ name }) => !unlisted.has(name) && !isCellCommand(name));
      return describe(shown.map(({ name }) => name))
        .map((one) => `- ${describeFunction(one)}`)
        .join("\n");
    },
    describe,
    /** True for what the prompt does not list. */
    isUnlisted: (name: string): boolean => unlisted.has(name) || helpers.has(name),
    /** The texts that method search looks through, by the names of commands and of Python functions. One list per object. */
    get texts(): readonly MethodText[] {
      const names = [...commands.map(({ name }) => name), ...helpers.keys()].filter((name) => name !== METHOD_SEARCH);
      texts ??= describe(names).map((one) => ({
        name: one.name,
        text: describeFunction(one),
        isOwn: !shipped.has(one.name),
      }));
      return texts;
    },
  };
}

/** Found commands are not in the list of commands, which stays the same so that a server can cache it. */
function renderOffer(listed: readonly RegisteredCommand[], found: readonly RegisteredCommand[]) {
  const offered = [...listed, ...found];
  const replySchema = buildReplySchema(offered);
  const tools = buildTools(offered);
  const formatChars = { replySchema: JSON.stringify(replySchema).length, tools: JSON.stringify(tools).length };
  return { commandList: describeForPrompt(listed), replySchema, tools, formatChars };
}

/** Newest first. */
function renderFound(names: readonly string[], found: readonly RegisteredCommand[], callable: CallableMethods) {
  const functions = callable.describe(names);
  const ofCommands = new Set(found.map(({ name }) => name));
  const lines = (shown: readonly FoundMethod[]): string => shown.map(describeFunction).join("\n");
  return {
    foundCommands: found.map(describeFoundCommand).join("\n"),
    foundHelpers: lines(functions.filter(({ name }) => !ofCommands.has(name) && callable.isUnlisted(name))),
    found: functions.map(describeFunction),
  };
}
