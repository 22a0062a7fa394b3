/** Builders for store tests: stamped events, commits, file changes. */
import { createHash } from "node:crypto";
import { EVENT_VERSION, type NewEvent, type RecordedEvent } from "#core/event.ts";
import type { NewMemory } from "#core/ports/memory.ts";
import type { AgentSpec, Commit, FileChange, InboxMessage, Store } from "#core/ports/store.ts";
import { AT } from "../helpers/events.ts";

export const SPEC: AgentSpec = { name: "Foo", role: "a tester", goals: ["One"], approve: "never", stepLimit: 9 };
export const NOTHING: Commit = { events: [], consumed: [], memories: [], files: [], blobs: [], staged: [] };
export const words = (text: string): InboxMessage => ({ type: "say", from: "ada", text });
/** Returns the time `seconds` after the agents of these tests were created. */
export const later = (seconds: number): string => new Date(Date.parse(AT) + seconds * 1000).toISOString();
/** Stamps events as the journal does, numbered from `first`. */
export const stamped = (first: number, ...events: readonly NewEvent[]): readonly RecordedEvent[] =>
  events.map((event, index) => {
    const seq = first + index;
    return { frame: 0, ...event, v: EVENT_VERSION, seq, at: later(seq) } as RecordedEvent;
  });
export const said = (text: string): NewEvent => ({ type: "message-received", from: "ada", text });
export const memoryOf = (seq: number, text = `memory ${seq}`): NewMemory => ({
  ...{ seq, step: 1, namespace: "foo", kind: "step", text, importance: 0.25, trust: "agent" },
});
export const sha256 = (bytes: string | Uint8Array): string => createHash("sha256").update(bytes).digest("hex");
export const bytesOf = (text: string): Uint8Array => new TextEncoder().encode(text);
export const wrote = (
  path: string,
  text: string | null,
  callId = "c1",
): FileChange & { step: number; callId: string } => {
  const content = text === null ? null : bytesOf(text);
  const operation = content ? "write" : "delete";
  return { path, operation, bytes: content?.length ?? 0, sha256: content && sha256(content), content, step: 1, callId };
};

/** Reads everything that is visible through the store's interface. */
export const readEverything = async (store: Store) => {
  const agents = await store.agents();
  const ids = agents.map(({ id }) => id);
  const of = <T>(read: (id: string) => Promise<T>): Promise<T[]> => Promise.all(ids.map(read));
  return {
    agents,
    logs: await of((id) => store.read(id, 0, 1000)),
    inboxes: await of((id) => store.inbox(id)),
    memories: await of((id) => store.memories(id, 0, 1000)),
    files: await of((id) => store.files(id)),
    loaded: await of((id) => store.load(id, 1)),
    due: await store.due(later(100_000)),
    blob: await store.blob(sha256("kept")),
  };
};
