/** asked.ts -- the server and model that a failure names, and the shape of a failure. */
import type { ModelAnswer } from "#core/ports/model.ts";
import type { Quote } from "#util/outside-errors.ts";

export type ModelFailure = Extract<ModelAnswer, { kind: "failed" }>;

/** The server that goald sent a request to, and how to quote its answer. */
export interface AskedServer {
  /** Base URL without secrets, for messages. */
  readonly server: string;
  /** Absent for a request that names no model. */
  readonly model?: string;
  readonly quote: Quote;
}

export type AskedModel = Required<AskedServer>;

/** Returns the words that follow the server in a sentence. */
export const forModel = ({ model }: AskedServer): string => (model === undefined ? "" : ` for model ${model}`);

export const createFailure = (code: string, message: string, retry: ModelFailure["retry"]): ModelFailure => ({
  kind: "failed",
  code,
  message,
  retry,
});
