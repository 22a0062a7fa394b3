/**
 * graph-messages.ts -- what the daemon and the process of a graph say to each other, one answer for each request.
 *
 * Vectors travel side by side in one array, in the order of their slots. Whoever receives a message checks it: the
 * numbers on which native code would stumble are refused before they reach it.
 */

export interface GraphScope {
  readonly namespace: string;
  readonly embedder: string;
  readonly dimensions: number;
  /** Absolute path of the folder where this graph is kept; null: nowhere. */
  readonly folder: string | null;
}

export interface GraphRequests {
  /** First, and to begin anew: with what is kept, with nothing, or with nothing and without what was kept. */
  open: {
    readonly request: GraphScope & { readonly from: "kept" | "empty" | "discarded" };
    readonly answer: GraphOpened;
  };
  /** Removals first. A slot that is taken gets the new vector. */
  change: {
    readonly request: {
      readonly removed: Uint32Array;
      readonly added: Uint32Array;
      readonly vectors: Float32Array;
    };
    readonly answer: GraphCounts;
  };
  search: { readonly request: { readonly query: Float32Array; readonly count: number }; readonly answer: Uint32Array };
  /** Makes all durable that was changed up to now. */
  keep: { readonly request: null; readonly answer: null };
}
export type GraphRequestName = keyof GraphRequests;

export interface GraphCounts {
  readonly live: number;
  /** Vectors in the graph that belong to no slot: they cost time and are never found. */
  readonly dead: number;
  /** Vectors that a file written now would have, or lack, other than the last one. */
  readonly unkept: number;
}
export interface GraphOpened {
  /** Vectors that were read from the folder; each is taken up when its like is added, at next to no cost. */
  readonly found: number;
  /** Why something that lay in the folder was deleted instead; in words. */
  readonly problem?: string;
}
