/**
 * javascript-namespace.ts -- saves the namespace of a context, loads a saved one, and tells what a nested cell changed.
 *
 * Functions and classes are kept as source if they were defined at the top level of a cell: one that was made inside another
 * function may use names that only that function had.
 */
import type { LostName, NamespaceChange, SavedNamespace } from "#core/ports/sandbox.ts";
import type { JavascriptContext } from "./javascript-context.ts";
import type { RealmSave } from "./javascript-realm-port.ts";
import type { PreparedCode } from "./javascript-source.ts";
import { MAX_SAVED_BYTES } from "./protocol.ts";

export interface Saved {
  readonly saved: SavedNamespace;
  readonly lost: readonly LostName[];
}
type Entry = readonly [name: string, content: string];

const IDENTIFIER = /^[\p{ID_Start}$_][\p{ID_Continue}$]*$/u;
const INNER_FUNCTION = "only functions and classes that are defined at the top level are kept";
const TOO_LARGE = `a namespace keeps ${MAX_SAVED_BYTES / 1024 / 1024} MB at most`;
/** Names that a namespace keeps. */
const MAX_NAMES = 5_000;

export class JavascriptNamespace {
  readonly #context: JavascriptContext;
  /** Sources that are known to be defined at the top level. */
  readonly #sources = new Set<string>();
  readonly #code: PreparedCode[] = [];

  constructor(context: JavascriptContext) {
    this.#context = context;
  }

  /** Code that is about to run. Its functions are looked up at the next `save`. */
  addCode(code: PreparedCode): void {
    this.#code.push(code);
  }

  /** Throws when the time or the memory is not enough. `version` is the host's. */
  save(version: string): Saved {
    const { values, functions, lost } = JSON.parse(this.#context.call("save")) as RealmSave;
    const sources = Object.entries(functions);
    const isKept = ([, source]: Entry): boolean => this.#isTopLevel(source);
    const inner = sources.filter((entry) => !isKept(entry)).map(([name]) => ({ name, reason: INNER_FUNCTION }));
    const room = createRoom();
    const definitions = sources.filter((entry) => isKept(entry) && room.holds(entry));
    const kept = Object.entries(values).filter(room.holds);
    this.#code.splice(0);
    return {
      saved: { version, definitions, values: Object.fromEntries(kept) },
      lost: [...lost, ...inner, ...room.refused.map((name) => ({ name, reason: TOO_LARGE }))],
    };
  }

  /** Returns the names of functions and classes that could not be defined. */
  load({ definitions, values }: Pick<NamespaceChange, "definitions" | "values">): readonly string[] {
    const removed = definitions.filter(([, source]) => source === null).map(([name]) => [name, null] as const);
    this.#context.call("load", JSON.stringify({ ...Object.fromEntries(removed), ...values }));
    let left = definitions.filter((entry): entry is Entry => entry[1] !== null);
    // A class may come before the one that it extends.
    for (let before = Infinity; left.length < before; ) {
      before = left.length;
      left = left.filter(([name, source]) => !this.#define(name, source));
    }
    return left.map(([name]) => name);
  }

  #define(name: string, source: string): boolean {
    const target = IDENTIFIER.test(name) ? `var ${name}` : `globalThis[${JSON.stringify(name)}]`;
    this.#sources.add(source);
    return this.#context.define(`${target} = (${source}\n);`);
  }

  #isTopLevel(source: string): boolean {
    if (this.#sources.has(source)) return true;
    const isFound = this.#code.some((prepared) => {
      for (let at = prepared.code.indexOf(source); at >= 0; at = prepared.code.indexOf(source, at + 1))
        if (prepared.isTopLevel(at)) return true;
      return false;
    });
    if (isFound) this.#sources.add(source);
    return isFound;
  }
}

/** Room for what a namespace keeps. */
function createRoom() {
  let names = MAX_NAMES;
  let bytes = MAX_SAVED_BYTES;
  const refused: string[] = [];
  const holds = ([name, content]: Entry): boolean => {
    const size = Buffer.byteLength(name) + Buffer.byteLength(content);
    if (names === 0 || size > bytes) {
      refused.push(name);
      return false;
    }
    names -= 1;
    bytes -= size;
    return true;
  };
  return { holds, refused };
}

/** Returns the change that makes `after` of `before`. */
export function findChange(before: SavedNamespace, after: SavedNamespace): NamespaceChange {
  const [was, is] = [new Map(before.definitions), new Map(after.definitions)];
  const gone = [...was.keys()].filter((name) => !is.has(name)).map((name) => [name, null] as const);
  const defined = after.definitions.filter(([name, source]) => was.get(name) !== source);
  const [oldValues, newValues] = [new Map(Object.entries(before.values)), new Map(Object.entries(after.values))];
  const removed = [...oldValues.keys()].filter((name) => !newValues.has(name)).map((name) => [name, null] as const);
  const set = [...newValues].filter(([name, value]) => oldValues.get(name) !== value);
  return { definitions: [...gone, ...defined], values: Object.fromEntries([...removed, ...set]) };
}
