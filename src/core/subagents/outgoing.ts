/**
 * outgoing.ts -- messages to sub-agents and to the parent, derived from the agent's own events. Pure.
 *
 * The journal stages these writes in the commit of the event. Nothing else writes to another agent, so that
 * each sub-agent is started once and each message is delivered once, wherever a crash falls.
 */

import type { Observation } from "../call.ts";
import type { EventOf, RecordedEvent } from "../event.ts";
import { spentOf } from "../limits.ts";
import type { PauseCode } from "../pause-code.ts";
import type { StagedWrite } from "../ports/commit.ts";
import type { InboxMessage } from "../ports/inbox.ts";
import { addSources, type OutsideSource, plainSources } from "../provenance.ts";
import { type AgentState, isOver } from "../state.ts";
import { pathInParent } from "./folder.ts";
import type { ReportStatus } from "./subagent-event.ts";

/** Pauses by a person stop working sub-agents too. At a limit they continue with their reserved allowance. */
const HALTS: ReadonlySet<PauseCode> = new Set(["person", "stopped", "killed", "parent"]);

/** `self`: the agent's id; `after`: its state after the event. */
export function stageMessages(event: RecordedEvent, after: AgentState, self: string): readonly StagedWrite[] {
  switch (event.type) {
    case "agent-started":
      return [spawned(event, after, self)];
    case "agent-told": {
      const { agent, text, limits, seq, outside = [] } = event;
      return [
        send(agent, `task/${seq}`, {
          type: "task",
          from: after.name,
          text,
          limits,
          outside: sourcesOfWords(after, outside),
        }),
      ];
    }
    case "agent-ended":
      return [send(event.agent, `end/${event.seq}`, { type: "end", reason: event.reason })];
    case "settings-changed": {
      const { approve, commands, seq } = event;
      const policy = { ...(approve ? { approve } : {}), ...(commands ? { commands } : {}) };
      if (Object.keys(policy).length === 0) return [];
      return Object.keys(after.children).map((id) => send(id, `policy/${seq}`, { type: "policy", ...policy }));
    }
    case "agent-paused": {
      const reason = `${self}, which started it, was stopped.`;
      const halts = HALTS.has(event.code) ? toWorking(after, `halt/${event.seq}`, { type: "halt", reason }) : [];
      return [...halts, ...pauseReport(event, after, self)];
    }
    case "agent-resumed":
      return toWorking(after, `go-on/${event.seq}`, { type: "go-on" });
    case "turn-finished":
      return report(after, self, event.seq, "finished", {
        status: "ok",
        text: `${event.reason}${filesOf(after, self)}`,
        source: "agent",
        outside: sourcesOfReport(after, self),
        artifacts: pathsOf(after, self),
      });
    case "agent-reported":
      if (after.paused?.code === "ended") return endReport(after, self, event.seq);
      return isOver(after) ? report(after, self, event.seq, "accounts", null) : [];
    default:
      return [];
  }
}

function spawned(
  event: EventOf<"agent-started"> & { readonly seq: number },
  after: AgentState,
  self: string,
): StagedWrite {
  const { seq, agent, child, outside = [] } = event;
  const depth = (after.startedBy?.depth ?? 0) + 1;
  const origin = { agent: self, depth, outside: sourcesOfWords(after, outside) };
  return { kind: "spawn", key: `agent/${seq}`, spec: { ...child, id: agent, startedBy: origin } };
}

const sourcesOfWords = ({ received }: AgentState, ofCall: readonly OutsideSource[]): readonly OutsideSource[] =>
  addSources(plainSources(received), plainSources(ofCall));

/** The words of a report are those of this agent, and perhaps of all that it received. */
const sourcesOfReport = ({ received }: AgentState, self: string): readonly OutsideSource[] =>
  addSources([{ from: "agent", name: self }], plainSources(received));

const send = (to: string, key: string, message: InboxMessage): StagedWrite => ({ kind: "send", to, key, message });

const toWorking = ({ children }: AgentState, key: string, message: InboxMessage): readonly StagedWrite[] =>
  Object.entries(children).flatMap(([id, { isWorking }]) => (isWorking ? [send(id, key, message)] : []));

function pauseReport(
  { code, reason, seq }: EventOf<"agent-paused"> & { readonly seq: number },
  after: AgentState,
  self: string,
): readonly StagedWrite[] {
  // The parent caused this pause and needs no report.
  if (code === "parent") return [];
  if (code === "ended") return endReport(after, self, seq);
  const text = `It is paused and has not finished: ${reason}${filesOf(after, self)}`;
  const observation = { status: "failed", code: "agent-paused", text, source: "agent" } as const;
  const outside = sourcesOfReport(after, self);
  return report(after, self, seq, "paused", { ...observation, outside, artifacts: pathsOf(after, self) });
}

/** Reports the end once all sub-agents have ended, so that the total spending is known. */
function endReport(after: AgentState, self: string, seq: number): readonly StagedWrite[] {
  const isLast = Object.values(after.children).every(({ isWorking }) => !isWorking);
  return isLast ? report(after, self, seq, "ended", null) : [];
}

function report(
  after: AgentState,
  self: string,
  seq: number,
  status: ReportStatus,
  observation: Observation | null,
): readonly StagedWrite[] {
  const { startedBy, tasksReceived } = after;
  if (!startedBy?.agent) return [];
  const message = { type: "report", agent: self, status, tasksReceived, spent: spentOf(after), observation } as const;
  return [send(startedBy.agent, `report/${seq}`, message)];
}

/** Paths relative to the parent's folder, which contains this agent's folder. */
const pathsOf = ({ made }: AgentState, self: string): readonly string[] => made.map((path) => pathInParent(self, path));

function filesOf(after: AgentState, self: string): string {
  const paths = pathsOf(after, self);
  return paths.length === 0 ? "" : `\nIts files: ${paths.join(", ")}`;
}
