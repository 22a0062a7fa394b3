/**
 * fork-agent.ts -- creates an agent that starts from another agent's state after a given step. The log of the fork
 * begins with the other's events up to that step; its memories and files are of that time. The fork is paused until
 * somebody resumes it. The original may be running and is not changed. The log is durable before the first file is
 * written.
 */
import type { ForkRequest } from "#api/schemas.ts";
import { GoaldError } from "#core/errors.ts";
import { EVENT_VERSION, type NewEvent, type RecordedEvent } from "#core/event.ts";
import { evolve, replay } from "#core/evolve.ts";
import { eventsForMessage } from "#core/inbox.ts";
import type { Clock } from "#core/ports/clock.ts";
import type { AgentRow, InboxMessage, Store } from "#core/ports/store.ts";
import type { Workspace } from "#core/ports/workspace.ts";
import type { AgentState } from "#core/state.ts";
import { requireTaken, restoreVersion } from "#views/file-versions.ts";
import { allEvents } from "#views/read-agent.ts";
import { lastReport } from "./halt-and-resume.ts";
import type { DescribedAgent } from "./host-views.ts";

export interface ForkParts {
  readonly store: Pick<Store, "read" | "fork" | "files" | "blob" | "hasCreated">;
  readonly clock: Pick<Clock, "now">;
  /** Checks and trims; throws GOALD_USAGE. */
  checkAgent(agent: DescribedAgent): DescribedAgent;
  /** Opens the folder of the new agent, including goald's own files, and creates it. */
  openWorkspace(row: AgentRow): Promise<Pick<Workspace, "stat" | "write">>;
}

/**
 * `files`: number of files that the fork starts with. Throws GOALD_NOT_FOUND if the original has not taken the step, and
 * GOALD_FILE if a file cannot be written.
 */
export async function forkAgent(from: AgentRow, request: ForkRequest, parts: ForkParts) {
  const past = await pastOf(from, request.step, parts.store);
  const state = replay(past);
  const { name, goals } = parts.checkAgent({
    name: request.name ?? from.name,
    role: state.role,
    goals: request.goals ?? state.goals,
  });
  const left = `It works for ${from.id}, which you were forked from, and not for you.`;
  const place = state.open.length > 0 ? "in" : "after";
  const reason = `Forked from ${from.id} as it was ${place} step ${request.step}. It has not gone on since.`;
  const messages: readonly InboxMessage[] = [
    // The original keeps its sub-agents, so the fork reserves nothing for them.
    ...Object.entries(state.children).map(([agent, child]) => lastReport(agent, left, child.tasksSent, child.spent)),
    ...(request.goals ? [{ type: "goals", goals } as const] : []),
    { type: "pause", reason },
  ];
  const events = newEvents(messages, state, past.length, parts.clock.now().toISOString());
  const isRepeated = await parts.store.hasCreated(request.key);
  const row = await parts.store.fork(from.id, { name, head: past.length, events }, request.key);
  return { row, files: await writeFiles(row, isRepeated, parts) };
}

/** Returns the events up to the last one of the step, without what people did after it, and without an unused approval. */
async function pastOf({ id }: AgentRow, step: number, store: ForkParts["store"]): Promise<readonly RecordedEvent[]> {
  const events: RecordedEvent[] = [];
  let end = 1;
  let taken = 0;
  for await (const event of allEvents(store, id)) {
    if ("step" in event) {
      if (event.step > step) return events.slice(0, end);
      taken = event.step;
      if (event.type !== "command-approved" || event.by !== "person") end = event.seq;
    } else if (event.type === "turn-finished") end = event.seq;
    events.push(event);
  }
  requireTaken(step, taken, id);
  return events.slice(0, end);
}

/** Returns the events by which the fork reads these messages. A command under way has been left in order: the fork counts no death. */
function newEvents(messages: readonly InboxMessage[], past: AgentState, head: number, at: string) {
  const events: RecordedEvent[] = [];
  const add = (event: NewEvent): void => {
    events.push({ frame: 0, ...event, v: EVENT_VERSION, seq: head + events.length + 1, at } as RecordedEvent);
  };
  for (const { step, callId, ...call } of past.open.toReversed())
    if (call.kind === "command" && call.intent) add({ type: "call-cut-off", step, callId, epoch: call.intent.epoch });
  for (const message of messages) eventsForMessage(message, events.reduce(evolve, past)).forEach(add);
  return events;
}

/**
 * Writes all files of the fork's history, including goald's own. For a repeated request, which may follow a death before the
 * last file, it writes only those that are missing: others may have changed since. Returns the number of files.
 */
async function writeFiles(fork: AgentRow, isRepeated: boolean, { store, openWorkspace }: ForkParts): Promise<number> {
  const workspace = await openWorkspace(fork);
  const byPath = Map.groupBy(await store.files(fork.id), ({ path }) => path);
  let count = 0;
  for (const [path, versions] of byPath) {
    const content = await restoreVersion(versions, store);
    if (content === null) continue;
    count++;
    if (isRepeated && (await workspace.stat(path))) continue;
    await workspace.write(path, content).catch((cause) => {
      throw new GoaldError("GOALD_FILE", `${fork.id} is there, but its file ${path} could not be written.`, {
        hint: `Its history holds it: goald restore ${fork.id} --step N`,
        cause,
      });
    });
  }
  return count;
}
