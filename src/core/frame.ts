/** frame.ts -- one level of nested work: its phase, its messages and its failures. frames.ts has the stack. */
import type { ReplyForm } from "./agent-settings.ts";
import type { CommandCall, Observation, WaitFor } from "./call.ts";
import type { OutputMode } from "./event.ts";
import type { OutsideSource } from "./provenance.ts";
import type { Text } from "./text.ts";

/** One message of short-term memory. */
export interface Message {
  /** Number of the event that it came from. */
  readonly seq: number;
  readonly step: number;
  readonly kind: "reply" | "result" | "problem" | "feedback" | "task" | "report";
  /** The speaker: a command's name, a person, an agent. Empty for a reply. */
  readonly from: string;
  readonly status: Observation["status"] | null;
  readonly source: Observation["source"];
  /** Sources of the outside words in the text. Absent: none, or only `source` is known. */
  readonly outside?: readonly OutsideSource[];
  readonly text: Text;
  /** A reply that is not JSON with a command: the form in which the model wrote it. */
  readonly form?: ActionForm | "plan";
  /** A result: what the command did beside returning it. Absent: nothing that the plan's hint is about. */
  readonly did?: Deed;
  /** A problem: the reasoning tokens of a reply that was cut off before an answer began. Absent: another problem. */
  readonly reasoningTokens?: number;
}

/** Set when the call changed files, recorded a thought or changed the plan; the newest of several. */
export type Deed = "files" | "think" | "plan";

/** The forms in which a reply is text with a piece of code. */
export type ActionForm = Extract<ReplyForm, "react" | "code">;

/** What a frame is doing between two moves. */
export type Phase =
  | { readonly kind: "thinking" }
  | { readonly kind: "asking"; readonly callId: string }
  /** `since`: the time of the failure. An earlier time now means that the clock was set back, and ends the wait. */
  | { readonly kind: "retrying"; readonly callId: string; readonly since: string; readonly at: string }
  | {
      readonly kind: "reading";
      readonly callId: string;
      readonly reply: Text;
      readonly finishReason: string;
      /** The model and output mode that produced the reply. */
      readonly model: string;
      readonly mode: OutputMode;
    }
  | { readonly kind: "judging"; readonly callId: string }
  /** `reason`: why a person must approve the call. `until`: ISO time at which the question expires; null for never. */
  | {
      readonly kind: "awaiting-approval";
      readonly callId: string;
      readonly reason: string;
      readonly until: string | null;
    }
  | { readonly kind: "approved"; readonly callId: string }
  | { readonly kind: "executing"; readonly callId: string }
  | { readonly kind: "waiting"; readonly callId: string; readonly waitFor: WaitFor; readonly until: string | null }
  /** The code of a cell asked to end the work. */
  | { readonly kind: "ending"; readonly reason: string }
  | { readonly kind: "closing"; readonly end: { readonly reason: string } }
  /** Nested work only: the event with the result, or the reason why there is none. */
  | {
      readonly kind: "ended";
      readonly resultSeq: number | null;
      readonly problem?: { readonly code: string; readonly text: string };
    }
  | { readonly kind: "resting"; readonly outcome: "completed"; readonly reason: string };

/** One level of nested work (frames.ts). The root frame is the agent. */
export interface Frame {
  readonly id: number;
  readonly kind: "agent" | "call" | "run";
  /** Prefix of the ids of its calls, and the id of the call of a frame of kind `call`. Empty for the agent. */
  readonly path: string;
  readonly phase: Phase;
  /** Further calls of the reply, which are judged one after the other when the call of the phase has ended. */
  readonly queue: readonly string[];
  /** Empty in a frame of kind `call`. */
  readonly window: readonly Message[];
  /** Number of model calls begun; repeated attempts do not count. */
  readonly asked: number;
  /** Consecutive unreadable replies, and consecutive failed model calls. */
  readonly badReplies: number;
  readonly modelFailures: number;
  /** Failed attempts of the open model call, oldest first. */
  readonly failedTries: readonly { readonly model: string; readonly code: string }[];
  readonly repetition: Repetition | null;
  /** Consecutive cells of code that failed. */
  readonly failedCells: number;
  /** Results of this run that did not match its schema. */
  readonly badResults: number;
  /** Null for the agent. */
  readonly origin: FrameOrigin | null;
}

/** Where a frame was pushed, and for what. */
export interface FrameOrigin extends Pick<NestedResult, "ordinal" | "hash"> {
  /** The running command. */
  readonly callId: string;
  readonly command: string;
  readonly step: number;
  /** Number of the event that pushed the frame. */
  readonly seq: number;
  readonly task: Text;
  readonly returns: Readonly<Record<string, unknown>>;
  /** How the model answers in this run. Absent: as in the frame below. */
  readonly form?: ReplyForm;
}

/** The recorded end of nested work. The result itself is in the log. */
export interface NestedResult {
  readonly ordinal: number;
  readonly hash: string;
  /** Number of the event that holds it. */
  readonly seq: number;
  /** Number of the event that began it. Absent: it was a call. */
  readonly from?: number;
}

/** A sub-task that has ended, as later sub-tasks of the same command see it. */
export interface EndedRun {
  readonly ordinal: number;
  /** Beginnings of both texts. */
  readonly task: string;
  readonly result: string;
}

/** The commands of the last reply and how many times in a row they came with the same arguments. */
export interface Repetition {
  readonly step: number;
  /** The first call of the reply. */
  readonly callId: string;
  readonly calls: readonly [CommandCall, ...CommandCall[]];
  /** The reply before, when its first call was the same. */
  readonly last: Pick<Repetition, "calls" | "count" | "noticed"> | null;
  readonly count: number;
  /** The model has been warned. */
  readonly noticed: boolean;
}

export function createFrame(given: Pick<Frame, "id" | "kind" | "path" | "origin">): Frame {
  return {
    ...given,
    phase: { kind: "thinking" },
    queue: [],
    window: [],
    asked: 0,
    badReplies: 0,
    modelFailures: 0,
    failedTries: [],
    repetition: null,
    failedCells: 0,
    badResults: 0,
  };
}
