/** model.ts -- the language model: messages in, a reply or a failure out. */
import type { OutputMode, Usage } from "../event.ts";

export interface PromptMessage {
  readonly role: "system" | "user" | "assistant" | "tool";
  readonly content: string;
  /** An assistant's calls of native tools. The next messages are their results, in the same order. */
  readonly calls?: readonly PromptCall[];
  /** A message with the role `tool` answers this call. */
  readonly callId?: string;
}

export interface PromptCall {
  /** Nine letters and digits: some servers take no other ids. */
  readonly id: string;
  readonly name: string;
  /** JSON of an object. */
  readonly args: string;
}

/** A JSON Schema that a server may bind its reply to. */
export interface ReplySchema {
  readonly schema: object;
  /** False for a schema outside the subset of strict servers. */
  readonly isStrict: boolean;
}

/** A command as a native tool. */
export interface Tool {
  readonly name: string;
  readonly description: string;
  /** JSON Schema of an object. */
  readonly parameters: object;
  /** False for parameters outside the subset of strict servers. */
  readonly isStrict: boolean;
}

export interface ModelRequest {
  readonly model: string;
  readonly messages: readonly PromptMessage[];
  /** Absent: plain. */
  readonly mode?: OutputMode;
  /** Schema of the reply in mode `json_schema`. Without it the mode is `json_object`. */
  readonly replySchema?: ReplySchema;
  /** In mode `tools`: the model must call one of them. */
  readonly tools?: readonly Tool[];
  /** Maximum tokens of the reply, reasoning included. */
  readonly maxTokens?: number;
  /** The reply ends before one of these texts, at most four. */
  readonly stop?: readonly string[];
}

/** `failed` covers every failure that is not a bug: no server, rejected, truncated, no finish_reason. */
export type ModelAnswer =
  | {
      readonly kind: "replied";
      readonly text: string;
      readonly finishReason: string;
      readonly usage: Usage | null;
      /** The part of the output tokens that went into reasoning. Absent: the server does not report it. */
      readonly reasoningTokens?: number;
      /** The server ignored `maxTokens`, and no other request helps: a sentence for people. */
      readonly capIgnored?: string;
    }
  | {
      readonly kind: "failed";
      /** Kebab-case, such as `unauthorized`, `rate-limited`, `server-error`, `no-connection`, `incomplete-reply`. */
      readonly code: string;
      /** For people; contains no secrets. */
      readonly message: string;
      /** With `context-overflow`: the server's limit in tokens. */
      readonly limitTokens?: number;
      /** The server charges this for a reply that was cut off: its own counts, or an estimate without input tokens. */
      readonly usage?: Usage;
      /** Null when a retry cannot help. `afterMs`: earliest retry in milliseconds; null leaves it to the caller. */
      readonly retry: {
        readonly afterMs: number | null;
        /** The server rejected a part of the request; the next one is sent at once without it. */
        readonly isChanged?: boolean;
      } | null;
    };

export interface ModelCapabilities {
  /** The mode of a reply in JSON. */
  readonly mode: Exclude<OutputMode, "tools">;
  /** The server is not known to reject tools for this model. Absent: it has none. */
  readonly takesTools?: boolean;
  /** Context window in tokens; null when unknown. */
  readonly contextTokens: number | null;
  /** The largest `maxTokens` that the server accepts; null when unknown. */
  readonly replyTokens?: number | null;
}

export interface LanguageModel {
  /**
   * Resolves for every outside failure; rejects only when `signal` is aborted, with its reason. `onText` receives the
   * reply's text as it arrives, for display only: an attempt that streamed text may still fail.
   */
  complete(request: ModelRequest, signal: AbortSignal, onText?: (piece: string) => void): Promise<ModelAnswer>;
  /** Known capabilities of the server for this model. Absent: plain mode, unknown context window. */
  terms?(model: string): Promise<ModelCapabilities>;
  noteReply?(model: string, mode: OutputMode, isReadable: boolean): Promise<void>;
  /** Records the server's estimated limit in tokens, request and reply together; null when the estimate did not help. */
  noteContext?(model: string, tokens: number | null): Promise<void>;
}
