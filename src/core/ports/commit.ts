/** commit.ts -- what is written together: one step of an agent's work. */
import type { RecordedEvent } from "../event.ts";
import type { AgentSpec } from "./agent.ts";
import type { FileChange } from "./file-version.ts";
import type { InboxMessage } from "./inbox.ts";
import type { MemoryKind, NewMemory } from "./memory-row.ts";

/** Writes that ride in the commit of a command's result (see `stage`). */
export type StagedWrite =
  | {
      readonly kind: "memory";
      readonly text: string;
      readonly importance: number;
      readonly memoryKind: MemoryKind;
      readonly supersedes?: string;
    }
  | { readonly kind: "send"; readonly to: string; readonly key: string; readonly message: InboxMessage }
  | { readonly kind: "spawn"; readonly key: string; readonly spec: AgentSpec }
  | { readonly kind: "timer"; readonly key: string; readonly at: string | null; readonly message: InboxMessage };

/** One atomic, durable unit: all of it or nothing. */
export interface Commit {
  readonly events: readonly RecordedEvent[];
  /** Keys of inbox rows that these events answer. */
  readonly consumed: readonly string[];
  readonly memories: readonly NewMemory[];
  readonly files: readonly (FileChange & { readonly step: number; readonly callId: string })[];
  /** Bytes to keep by their hash; those of `files` come by themselves. */
  readonly blobs: readonly Uint8Array[];
  readonly staged: readonly StagedWrite[];
  /** When the agent wants to run next: ISO time; null for "when something arrives". Absent: unchanged. */
  readonly wakeAt?: string | null;
  /** A fold of everything up to the last event, to spare refolding. Never needed for truth. */
  readonly snapshot?: { readonly version: number; readonly state: unknown };
}
