/**
 * method-search.ts -- searches the methods that an agent may call, for the command method_search and for names that do not
 * exist.
 *
 * In the forms json and tools the prompt lists most commands, so a search finds the others. In react and code form it finds all.
 */
import { describeFunction } from "#commands/code-functions.ts";
import { isActionForm, isCellCommand } from "#core/command.ts";
import type { CountTokens, MethodIndex, MethodSearch } from "#core/ports/memory.ts";
import { type AgentState, formOfFrame } from "#core/state.ts";
import type { ParsedReply } from "#reply/read.ts";
import type { CommandSet, CommandsFor } from "./command-set.ts";

export interface MethodParts {
  readonly commandsFor: CommandsFor;
  /** Absent: no method is found. */
  readonly methods?: MethodIndex;
}

const MAX_FOUND = 6;
const MAX_SUGGESTED = 3;
const MAX_NAME_CHARS = 200;

/** `countTokens`: see `MethodQuery`. */
export function openMethodSearch(
  state: AgentState,
  { commandsFor, methods }: MethodParts,
  countTokens?: CountTokens,
): MethodSearch {
  return {
    async find(description, signal) {
      const commands = commandsFor(state);
      const { callable } = commands;
      const findsAll = isActionForm(formOfFrame(state));
      const isAllowed = (name: string): boolean => findsAll || callable.isUnlisted(name);
      const query = { description, count: MAX_FOUND, isAllowed };
      const names = await methods?.search(callable.texts, countTokens ? { ...query, countTokens } : query, signal);
      return describeIn(state, commands, names ?? []);
    },
  };
}

/** In the forms in which a call is a command, a helper is none. */
const describeIn = (state: AgentState, { callable, get }: CommandSet, names: readonly string[]) =>
  callable.describe(names).map(({ doc, ...one }) => {
    const isCalled = isActionForm(formOfFrame(state)) || get(one.name);
    return { ...one, doc: isCalled ? doc : `${doc} A Python helper: only code can call it, in run_code.`.trim() };
  });

/**
 * Lines that describe what a name may have meant that does not exist, best first. Sends nothing: the search goes by words and
 * spelling.
 */
export async function suggestMethods(
  missing: string,
  state: AgentState,
  { commandsFor, methods }: MethodParts,
  signal: AbortSignal,
): Promise<readonly string[]> {
  const { callable } = commandsFor(state);
  // Code that runs code has it already.
  const isAllowed = (name: string): boolean => !isCellCommand(name);
  const query = { description: missing, count: MAX_SUGGESTED, isAllowed, isName: true };
  const names = await methods?.search(callable.texts, query, signal);
  return callable.describe(names ?? []).map(describeFunction);
}

/** A sentence with the methods that an unknown name may have meant and that the prompt does not list; none when there are none. */
export async function suggestForReply(
  reply: Pick<Extract<ParsedReply, { kind: "problem" }>, "unknownName">,
  state: AgentState,
  { commandsFor, methods, signal }: MethodParts & { readonly signal: AbortSignal },
): Promise<readonly string[]> {
  const commands = commandsFor(state);
  const { callable } = commands;
  if (reply.unknownName === undefined || !methods) return [];
  const isAllowed = (name: string): boolean => callable.isUnlisted(name);
  if (!callable.texts.some(({ name }) => isAllowed(name))) return [];
  const description = reply.unknownName.slice(0, MAX_NAME_CHARS);
  const query = { description, count: MAX_SUGGESTED, isAllowed, isName: true };
  const names = isAllowed(description) ? [description] : await methods.search(callable.texts, query, signal);
  const lines = describeIn(state, commands, names).map(describeFunction);
  return lines.length === 0 ? [] : [`Methods that a search finds for this name: ${lines.join(" ")}`];
}
