/** cell-lines.ts -- the lines of a cassette about cells of code: what the code asked its host for, and how it ended. */
import type { Body } from "./format.ts";

/** A question of the code of a cell to its host. */
export type CellAsk =
  | { readonly what: "call"; readonly name: string; readonly args: Readonly<Record<string, unknown>> }
  | {
      readonly what: "run";
      readonly task: string;
      readonly returns: Readonly<Record<string, unknown>>;
      readonly form: string | null;
    }
  | { readonly what: "list" }
  | { readonly what: "read"; readonly path: string }
  /** `content` null: the file was removed. */
  | { readonly what: "save"; readonly changes: readonly { readonly path: string; readonly content: Body | null }[] };

/** Written before the host answers. `version`: the cell's, unique in the agent. */
export interface CellAskLine {
  readonly type: "cell-ask";
  readonly version: string;
  readonly ask: CellAsk;
}

/** The end of a cell. Absent when its call was left open. */
export interface CellEndLine {
  readonly type: "cell-end";
  readonly version: string;
  readonly outcome: unknown;
}
