/** callable-methods.ts -- the functions that an agent's code may call: its commands, listed or not, and the Python helpers of the home. */
import type { PythonModule } from "#commands/python-modules.ts";
import type { RegisteredCommand } from "#commands/registry.ts";
import { type CodeFunctions, createCodeFunctions, describeFunction } from "#commands/stubs.ts";
import { isCellCommand } from "#core/cells.ts";
import type { FoundMethod, MethodText } from "#core/ports/methods.ts";
import type { CellLanguage } from "#core/ports/sandbox.ts";

export const METHOD_SEARCH = "method_search";

export interface CallableMethods {
  functionsFor(language: CellLanguage): CodeFunctions;
  /** The listed commands as functions of Python, one a line, without those that run code. */
  listFunctions(): string;
  /** The texts that method search looks through, by the names of commands and of Python functions. One list per object. */
  readonly texts: readonly MethodText[];
  /** True for what the prompt does not list. */
  isUnlisted(name: string): boolean;
  /** Leaves out names that do not exist, or not in this language. */
  describe(names: readonly string[], language: CellLanguage): readonly FoundMethod[];
}

/** `commands`: those that code may call. */
export function createCallableMethods(
  commands: readonly RegisteredCommand[],
  modules: readonly PythonModule[],
): CallableMethods {
  const unlisted = new Set(commands.flatMap(({ name, listed }) => (listed === false ? [name] : [])));
  const helpers = new Map(modules.flatMap(({ functions }) => functions.map((one) => [one.name, one] as const)));
  const functions = new Map<CellLanguage, CodeFunctions>();
  let list: string | undefined;
  let texts: readonly MethodText[] | undefined;

  function functionsFor(language: CellLanguage): CodeFunctions {
    const made = functions.get(language) ?? createCodeFunctions(commands, language);
    functions.set(language, made);
    return made;
  }

  function describe(names: readonly string[], language: CellLanguage): readonly FoundMethod[] {
    const { ofCommand } = functionsFor(language);
    return names.flatMap((name) => {
      const found = ofCommand(name) ?? (language === "python" ? helpers.get(name) : undefined);
      return found ? [{ name, signature: found.signature, doc: found.doc }] : [];
    });
  }

  function listFunctions(): string {
    const shown = commands.filter(({ name }) => !unlisted.has(name) && !isCellCommand(name));
    const lines = describe(
      shown.map(({ name }) => name),
      "python",
    );
    list ??= lines.map((one) => `- ${describeFunction(one)}`).join("\n");
    return list;
  }

  return {
    functionsFor,
    listFunctions,
    describe,
    isUnlisted: (name) => unlisted.has(name) || helpers.has(name),
    get texts() {
      const names = [...commands.map(({ name }) => name), ...helpers.keys()].filter((name) => name !== METHOD_SEARCH);
      texts ??= describe(names, "python").map((one) => ({ name: one.name, text: describeFunction(one) }));
      return texts;
    },
  };
}
