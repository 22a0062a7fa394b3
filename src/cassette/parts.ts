/** parts.ts -- what the recorder and the player need from outside. */
import type { RecordedEvent } from "#core/event.ts";
import type { Clock } from "#core/ports/clock.ts";
import type { AgentRow, InboxMessage } from "#core/ports/store.ts";
import type { Folder } from "./folder.ts";
import type { Line, Session, SessionLine } from "./format.ts";

export interface RecorderParts {
  write(line: Line): void;
  readonly clock: Clock;
  /**
   * Redacts known secrets and everything that looks like one. The run must use the same function for texts that it
   * keeps.
   */
  redact(text: string): string;
  /** Called when the folder cannot be recorded. The error is also thrown. */
  onFailed(error: Error): void;
}

export interface Begin extends Pick<SessionLine, "epoch" | "settings" | "catalogue" | "pause"> {
  readonly row: AgentRow;
  readonly created: Extract<RecordedEvent, { readonly type: "agent-created" }>;
  readonly services: readonly string[];
  readonly folder: Folder;
}

export interface PlayerParts {
  readonly session: Session;
  /** The last event of a process that was killed; undefined when the session ended normally. */
  readonly cutAfter: number | undefined;
  redact(text: string): string;
  /** The folder of the agent that is replayed. */
  folder(): Folder;
  /** Puts a message into the inbox of the agent that is replayed. */
  deliver(key: string, message: InboxMessage, at: string): Promise<unknown>;
  /** Returns the hint for the error about a difference. */
  hint(): string;
}
