/** live-text.ts -- the reply that a model is sending now: for display only, since it is not committed. */

/** The received part of the reply to the request of event `seq`. */
export interface LiveReply {
  readonly seq: number;
  readonly text: string;
}

export interface LiveText {
  /** Returns undefined when no reply is arriving. */
  of(agent: string): LiveReply | undefined;
  /** Calls `onMore` when more has arrived. The returned function ends the subscription. */
  listen(agent: string, onMore: () => void): () => void;
}
