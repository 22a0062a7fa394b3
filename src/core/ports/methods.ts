/** methods.ts -- search among the functions that code can call. */
import type { CountTokens } from "./vectors.ts";

export interface MethodText {
  readonly name: string;
  /** Signature and docstring. */
  readonly text: string;
  /** True for what the home brings. It comes before a shipped command that fits about as well. Default: false. */
  readonly isOwn?: boolean;
}

export interface MethodQuery {
  readonly description: string;
  /** Maximum number of results. From the fourth on, methods that fit much worse than the best one are left out. */
  readonly count: number;
  /** Methods that may be found. Default: all. */
  isAllowed?(name: string): boolean;
  /** True: the description is a name that does not exist, and only methods that it may mean are found. */
  readonly isName?: boolean;
  /** Counts what a server's embeddings take. Absent: nothing is sent, and words and offline vectors decide. */
  readonly countTokens?: CountTokens;
}

export interface MethodIndex {
  /** True when a search with `countTokens` may send requests. */
  readonly remote: boolean;
  /**
   * Names of the methods that fit, best first: at least three if so many are allowed. Never fails: without an embedder it uses
   * words alone. The index of a list is kept while the list exists.
   */
  search(methods: readonly MethodText[], query: MethodQuery, signal: AbortSignal): Promise<readonly string[]>;
}

export interface FoundMethod {
  /** Name of the command, or of the Python function. */
  readonly name: string;
  /** In the language of the code that searches; Python when no code does. */
  readonly signature: string;
  readonly doc: string;
}
/** Search among the functions that the agent may call. */
export interface MethodSearch {
  /** Best first; empty when none fits. */
  find(description: string, signal: AbortSignal): Promise<readonly FoundMethod[]>;
}
