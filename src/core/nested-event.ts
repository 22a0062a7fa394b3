/** nested-event.ts -- events of nested work: the stack of frames (frames.ts), and the namespaces of cells (cells.ts). */
import type { ReplyForm } from "./agent-settings.ts";
import type { OfCall } from "./event.ts";
import type { LostName, NamespaceChange } from "./ports/sandbox.ts";
import type { OutsideSource } from "./provenance.ts";
import type { Text } from "./text.ts";

/** `frame` is the frame that is pushed or popped. */
export type NestedEvent =
  | ({
      readonly type: "frame-pushed";
      readonly kind: "call" | "run";
      /** Position among the nested work of the command, from 1. */
      readonly ordinal: number;
      /** SHA-256 of what was asked for. A repeated run of the command must ask for the same at the same position. */
      readonly hash: string;
      /** Set for a run: the task in words, and the JSON Schema of its result. */
      readonly task?: Text;
      readonly returns?: Readonly<Record<string, unknown>>;
      /** How the model answers in this run; absent: as in the frame below. */
      readonly form?: ReplyForm;
      /** Sources of the outside words that the command had received when it asked. */
      readonly outside?: readonly OutsideSource[];
    } & OfCall)
  | ({
      readonly type: "frame-popped";
      readonly ordinal: number;
      readonly hash: string;
      /** Number of the event that holds the result; null for a run without one. */
      readonly resultSeq: number | null;
      /** Why the run has no result. */
      readonly problem?: { readonly code: string; readonly text: string };
    } & OfCall)
  /** A cell has ended. Committed with its result. */
  | ({
      readonly type: "namespace-saved";
      readonly version: string;
      /** Each source and each value is stored on its own, so that an unchanged long one is stored once. */
      readonly definitions: readonly (readonly [name: string, source: string])[];
      readonly values: Readonly<Record<string, string>>;
      readonly lost: readonly LostName[];
      /** Of a cell that ran inside another one: what it changed. */
      readonly change?: NamespaceChange;
      /** Sources of all outside words that the namespace has received; absent: none. */
      readonly outside?: readonly OutsideSource[];
    } & OfCall)
  /** A search for methods found these, best first. */
  | ({ readonly type: "methods-found"; readonly names: readonly string[] } & OfCall);
