/** asked.ts -- whom goald asked, and the form of a failure to answer. */
import type { ModelAnswer } from "#core/ports/model.ts";
import type { Quote } from "#util/quote.ts";

export type Failure = Extract<ModelAnswer, { kind: "failed" }>;

/** Whom goald asked, and how to quote what came back. */
export interface Asked {
  /** Base URL, fit to be shown. */
  readonly server: string;
  /** Absent where none was asked. */
  readonly model?: string;
  readonly quote: Quote;
}

export type AskedModel = Required<Asked>;

/** As it stands behind the server in a sentence. */
export const forModel = ({ model }: Asked): string => (model === undefined ? "" : ` for model ${model}`);

export const failed = (code: string, message: string, retry: Failure["retry"]): Failure => ({
  kind: "failed",
  code,
  message,
  retry,
});
