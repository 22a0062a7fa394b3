/**
 * fork-agent.ts -- a new agent that begins where another stood after a step, made by whoever may write the store.
 *
 * Its log begins with the other's events up to there; its memories and files are those of then. It is paused, and goes on
 * when somebody resumes it. The other agent is not touched, and may be at work. The log is durable before the first file
 * is written.
 */
import type { ForkRequest } from "#api/control.ts";
import { GoaldError } from "#core/errors.ts";
import { EVENT_VERSION, type NewEvent, type RecordedEvent } from "#core/event.ts";
import { evolve, replay } from "#core/evolve.ts";
import { receive } from "#core/inbox.ts";
import type { AgentRow, AgentSpec } from "#core/ports/agent.ts";
import type { Clock } from "#core/ports/clock.ts";
import type { InboxMessage } from "#core/ports/inbox.ts";
import type { Store } from "#core/ports/store.ts";
import type { Workspace } from "#core/ports/workspace.ts";
import type { AgentState, ChildAccount } from "#core/state.ts";
import { requireTaken } from "#views/require-taken.ts";
import { restoreVersion } from "#views/restore-version.ts";

export interface ForkParts {
  readonly store: Pick<Store, "read" | "fork" | "files" | "blob">;
  readonly clock: Pick<Clock, "now">;
  /** Checks and trims; throws GOALD_USAGE. */
  checkAgent(agent: Pick<AgentSpec, "name" | "role" | "goals">): Pick<AgentSpec, "name" | "role" | "goals">;
  /** Of a folder that it makes; goald's own files too. */
  openWorkspace(row: AgentRow): Promise<Pick<Workspace, "write">>;
}

export interface Forked {
  readonly row: AgentRow;
  /** How many files it begins with. */
  readonly files: number;
}

/** Throws GOALD_NOT_FOUND for a step that the other has not taken, and GOALD_FILE for a file that cannot be written. */
export async function forkAgent(from: AgentRow, request: ForkRequest, parts: ForkParts): Promise<Forked> {
  const past = await pastOf(from, request.step, parts.store);
  const state = replay(past);
  const given = request.goals ?? [];
  const { name, goals } = parts.checkAgent({
    name: request.name ?? from.name,
    role: state.role,
    goals: given.length > 0 ? given : state.goals,
  });
  const begin = { from, step: request.step, at: parts.clock.now().toISOString() };
  const events = newEvents(begin, given.length > 0 ? goals : undefined, state, past.length);
  const row = await parts.store.fork(from.id, { name, head: past.length, events }, request.key);
  return { row, files: await writeFiles(row, parts) };
}

const PAGE_EVENTS = 500;

/** Up to the last event of the step. What people said and did after it is no part of it. */
async function pastOf({ id }: AgentRow, step: number, store: ForkParts["store"]): Promise<readonly RecordedEvent[]> {
  const events: RecordedEvent[] = [];
  let [end, taken] = [1, 0];
  for (;;) {
    const page = await store.read(id, events.length, PAGE_EVENTS);
    for (const event of page) {
      if ("step" in event) {
        if (event.step > step) return events.slice(0, end);
        taken = event.step;
        end = event.seq;
      } else if (event.type === "turn-finished") end = event.seq;
      events.push(event);
    }
    if (page.length < PAGE_EVENTS) break;
  }
  requireTaken(step, taken, id);
  return events.slice(0, end);
}

/** The new goals, if there are any; and that it does not go on by itself, with where it comes from. */
function newEvents(
  { from: { id }, step, at }: { readonly from: AgentRow; readonly step: number; readonly at: string },
  goals: readonly string[] | undefined,
  past: AgentState,
  head: number,
): readonly RecordedEvent[] {
  const messages: readonly InboxMessage[] = [
    ...Object.entries(past.children).map(([agent, child]) => staysBehind(agent, child, id)),
    ...(goals ? [{ type: "goals", goals } as const] : []),
    { type: "pause", reason: `Forked from ${id} as it was after step ${step}. It has not gone on since.` },
  ];
  let state = past;
  const events: RecordedEvent[] = [];
  const record = (event: NewEvent): void => {
    const stamped = { frame: 0, ...event, v: EVENT_VERSION, seq: head + events.length + 1, at } as RecordedEvent;
    events.push(stamped);
    state = evolve(state, stamped);
  };
  for (const message of messages) for (const event of receive(message, state)) record(event);
  return events;
}

/** What the other has started stays with it: nothing is set aside for that any more. */
function staysBehind(agent: string, { told, spent }: ChildAccount, source: string): InboxMessage {
  const text = `It works for ${source}, which you were forked from, and not for you.`;
  const observation = { status: "failed", code: "agent-removed", text, source: "goald", artifacts: [] } as const;
  return { type: "report", agent, standing: "ended", heard: told, spent, observation };
}

/** Those that its history holds, goald's own for the long outputs too. Returns how many. */
async function writeFiles(fork: AgentRow, { store, openWorkspace }: ForkParts): Promise<number> {
  const workspace = await openWorkspace(fork);
  const byPath = Map.groupBy(await store.files(fork.id), ({ path }) => path);
  let count = 0;
  for (const [path, versions] of byPath) {
    const content = await restoreVersion(versions, store);
    if (content === null) continue;
    await workspace.write(path, content).catch((cause) => {
      throw new GoaldError("GOALD_FILE", `${fork.id} is there, but its file ${path} could not be written.`, {
        hint: `Its history holds it: goald restore ${fork.id} --step N`,
        cause,
      });
    });
    count++;
  }
  return count;
}
