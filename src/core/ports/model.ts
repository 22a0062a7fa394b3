/** model.ts -- the language model: messages in, a reply or a failure out. */
import type { OutputMode, Usage } from "../event.ts";

export interface PromptMessage {
  readonly role: "system" | "user" | "assistant";
  readonly content: string;
}

export interface ModelRequest {
  readonly model: string;
  readonly messages: readonly PromptMessage[];
  /** Absent: plain. */
  readonly mode?: OutputMode;
  /** What the reply must be, in mode `json_schema`; absent: thoughts and one command. */
  readonly schema?: object;
}

/** `failed` covers everything but a bug: no server, refused, cut off, no finish_reason. */
export type ModelAnswer =
  | { readonly kind: "replied"; readonly text: string; readonly finishReason: string; readonly usage: Usage | null }
  | {
      readonly kind: "failed";
      /** Kebab-case, such as `unauthorized`, `rate-limited`, `server-error`, `no-connection`, `incomplete-reply`. */
      readonly code: string;
      /** For people; no secrets in it. */
      readonly message: string;
      /** With `context-overflow`: how many tokens the server says that it takes. */
      readonly limitTokens?: number;
      /** Whether trying again may help, and not before how many milliseconds (null: the caller's own rule). */
      readonly retry: {
        readonly afterMs: number | null;
        /** The server refused a part of the request: the next one is asked on other terms, at once. */
        readonly isChanged?: boolean;
      } | null;
    };

export interface ModelTerms {
  readonly mode: OutputMode;
  /** null: not known. */
  readonly contextTokens: number | null;
  /** What the form of the reply takes of a request in this mode, beside its messages. */
  readonly formatTokens?: number;
}

export interface LanguageModel {
  /**
   * Contract: resolves for every failure outside; rejects only when `signal` is aborted, with its reason. `onText` is
   * told the pieces of the reply's text as they arrive; they are nothing to act on, and may belong to no reply at all.
   */
  complete(request: ModelRequest, signal: AbortSignal, onText?: (piece: string) => void): Promise<ModelAnswer>;
  /** How the server takes requests for this model, as far as it is known; absent: in plain text, whatever their length. */
  terms?(model: string): Promise<ModelTerms>;
  /** Told whether a reply that was asked for in this mode could be read. */
  noteReply?(model: string, mode: OutputMode, isReadable: boolean): Promise<void>;
  /** Told how many tokens, request and reply together, the server is believed to take; null: that was no help. */
  noteContext?(model: string, tokens: number | null): Promise<void>;
}
