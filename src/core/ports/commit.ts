/** commit.ts -- the unit of writing: everything that becomes durable together. */
import type { RecordedEvent } from "../event.ts";
import type { OutsideSource } from "../provenance.ts";
import type { AgentSpec } from "./agent.ts";
import type { FileChange } from "./file-version.ts";
import type { InboxMessage } from "./inbox.ts";
import type { MemoryKind, NewMemory } from "./memory-row.ts";

/** Writes committed together with a command's result (`CommandContext.stage`). */
export type StagedWrite =
  | {
      readonly kind: "memory";
      readonly text: string;
      readonly importance: number;
      readonly memoryKind: MemoryKind;
      /** A row of the agent's own, which `refuseMemoryChange` accepts. */
      readonly supersedes?: string;
      readonly factKey?: string;
      /** Set by goald. */
      readonly outside?: readonly OutsideSource[];
    }
  | { readonly kind: "send"; readonly to: string; readonly key: string; readonly message: InboxMessage }
  | { readonly kind: "spawn"; readonly key: string; readonly spec: AgentSpec }
  | { readonly kind: "timer"; readonly key: string; readonly at: string | null; readonly message: InboxMessage };

/** A change with the call that made it, and the sources of the outside words in it; absent: none. */
export interface CommittedFile extends FileChange {
  readonly step: number;
  readonly callId: string;
  readonly outside?: readonly OutsideSource[];
}

/** One atomic, durable unit: all of it or nothing. */
export interface Commit {
  readonly events: readonly RecordedEvent[];
  /** Keys of the inbox rows that became these events. */
  readonly consumed: readonly string[];
  readonly memories: readonly NewMemory[];
  readonly files: readonly CommittedFile[];
  /** Contents to store by their hash. The store adds those of `files` itself. */
  readonly blobs: readonly Uint8Array[];
  readonly staged: readonly StagedWrite[];
  /** ISO time of the next run; null means when a message arrives. Absent: unchanged. */
  readonly wakeAt?: string | null;
  /** State after the last event: a cache that saves refolding. */
  readonly snapshot?: { readonly version: number; readonly state: unknown };
}
