/**
 * graph-messages.ts -- the messages between the daemon and the process of a graph: one answer per request.
 *
 * Vectors are concatenated in one array, in the order of their slots. The receiver checks every message, because
 * wrong numbers would crash native code.
 */

export interface GraphScope {
  readonly namespace: string;
  readonly embedder: string;
  readonly dimensions: number;
  /** Absolute path of the folder that this graph is saved in; null: it is not saved. */
  readonly folder: string | null;
}

export interface GraphRequests {
  /**
   * The first request; again to start over. `from`: the saved graph, an empty one, or an empty one after deleting the saved one.
   * `centre` is about the mean of the rows; a saved graph keeps its own.
   */
  open: {
    readonly request: GraphScope & { readonly from: "saved" | "empty" | "discarded"; readonly centre: Float32Array };
    readonly answer: GraphOpened;
  };
  /** Removes, then adds. An added slot that exists gets the new vector. */
  change: {
    readonly request: {
      readonly removed: Uint32Array;
      readonly added: Uint32Array;
      readonly vectors: Float32Array;
    };
    readonly answer: GraphCounts;
  };
  search: { readonly request: { readonly query: Float32Array; readonly count: number }; readonly answer: Uint32Array };
  /** Makes all changes durable. */
  save: { readonly request: null; readonly answer: null };
}
export type GraphRequestName = keyof GraphRequests;

export interface GraphCounts {
  readonly live: number;
  /** Vectors of the graph without a slot: they cost time and are never found. */
  readonly dead: number;
  /** Number of vectors added and removed since the last save. */
  readonly unsaved: number;
}
export interface GraphOpened {
  /** Vectors read from the folder. Adding an equal vector reuses its node at almost no cost. */
  readonly found: number;
  /** Reason for which a saved graph was deleted. */
  readonly problem?: string;
}
