/** pause-code.ts -- why an agent is paused. */

export type PauseCode =
  | "person"
  | "stopped"
  | "killed"
  /** The parent agent was stopped. */
  | "parent"
  /** The parent agent ended it. */
  | "ended"
  | "step-limit"
  | "token-limit"
  | "budget"
  | "time-limit"
  | "loop"
  | "bad-replies"
  | "key-refused"
  | "model-refused"
  | "model-unreachable"
  | "prompt-too-long"
  /** The server sent more than the maximum of a reply. */
  | "cap-ignored"
  /** The agent reported unfinished work as finished several times. */
  | "not-proven"
  /** Several cells of code in a row failed. */
  | "failing-cells"
  /** A memory or a long text that the agent needs was changed. An agent whose log was changed cannot be paused. */
  | "damaged"
  | "crash-loop";
