/** callable-methods.ts -- the functions that an agent's code may call: its commands, listed or not, and the Python helpers of the home. */
import type { PythonModule } from "#commands/python-modules.ts";
import type { RegisteredCommand } from "#commands/registry.ts";
import { type CodeFunctions, createCodeFunctions, describeFunction } from "#commands/stubs.ts";
import { isCellCommand } from "#core/command-names.ts";
import type { FoundMethod, MethodText } from "#core/ports/memory.ts";

export const METHOD_SEARCH = "method_search";

export interface CallableMethods {
  /** The commands as functions of Python. */
  readonly functions: CodeFunctions;
  /** The functions that the code of an action may call: commands and Python helpers. */
  readonly allFunctions: readonly FoundMethod[];
  /** The listed commands as functions of Python, one a line, without those that run code. */
  listFunctions(): string;
  /** The texts that method search looks through, by the names of commands and of Python functions. One list per object. */
  readonly texts: readonly MethodText[];
  /** True for what the prompt does not list. */
  isUnlisted(name: string): boolean;
  /** Leaves out names that do not exist. */
  describe(names: readonly string[]): readonly FoundMethod[];
}

/** `commands`: those that code may call. */
export function createCallableMethods(
  commands: readonly RegisteredCommand[],
  modules: readonly PythonModule[],
): CallableMethods {
  const unlisted = new Set(commands.flatMap(({ name, listed }) => (listed === false ? [name] : [])));
  const helpers = new Map(modules.flatMap(({ functions }) => functions.map((one) => [one.name, one] as const)));
  const shipped = new Set(commands.flatMap(({ name, group }) => (group === "own" ? [] : [name])));
  let functions: CodeFunctions | undefined;
  let all: readonly FoundMethod[] | undefined;
  let list: string | undefined;
  let texts: readonly MethodText[] | undefined;

  function commandFunctions(): CodeFunctions {
    functions ??= createCodeFunctions(commands);
    return functions;
  }

  function describe(names: readonly string[]): readonly FoundMethod[] {
    return names.flatMap((name) => {
      const found = commandFunctions().ofCommand(name) ?? helpers.get(name);
      return found ? [{ name, signature: found.signature, doc: found.doc }] : [];
    });
  }

  function listFunctions(): string {
    const shown = commands.filter(({ name }) => !unlisted.has(name) && !isCellCommand(name));
    const lines = describe(shown.map(({ name }) => name));
    list ??= lines.map((one) => `- ${describeFunction(one)}`).join("\n");
    return list;
  }

  return {
    get functions() {
      return commandFunctions();
    },
    get allFunctions() {
      all ??= [...commandFunctions().all, ...helpers.values()];
      return all;
    },
    listFunctions,
    describe,
    isUnlisted: (name) => unlisted.has(name) || helpers.has(name),
    get texts() {
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
