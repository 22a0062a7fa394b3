/**
 * store-reading.ts -- implements `Reading` on a store, the agents' folders and the home's catalogue. Views that few
 * calls need are loaded by those: the prompt of a step, diffs, restorations and reports.
 */
import { join } from "node:path";
import { GoaldError } from "#core/errors.ts";
import type { Clock } from "#core/ports/clock.ts";
import type { Recall } from "#core/ports/memory.ts";
import type { AgentRow, StoreReader } from "#core/ports/store.ts";
import type { Workspace } from "#core/ports/workspace.ts";
import { createTurns } from "#util/turns.ts";
import { loadDetails } from "#views/agent-details.ts";
import type { AgentView } from "#views/agent-view.ts";
import { loadFileStory } from "#views/file-story.ts";
import { latestFiles, loadFileContent, requireTaken } from "#views/file-versions.ts";
import { findNamespace, listMemories, loadMemory, loadMemoryPage, viewRecalls, viewRow } from "#views/memory-view.ts";
import { loadPlan } from "#views/plan-view.ts";
import { findAgent, loadAgent, loadGoals, stateOf } from "#views/read-agent.ts";
import { listSteps } from "#views/step-view.ts";
import { loadWaiting, type WaitingView } from "#views/waiting.ts";
import type { StepParts } from "#views/whole-step.ts";
import type { Reading } from "./control.ts";

export interface ReadingParts extends StepParts {
  readonly reader: Omit<StoreReader, "close">;
  readonly clock: Pick<Clock, "now">;
  /** Absolute path of the home's `workspace/`. */
  readonly workspaceFolder: string;
  /** Returns one view per row, with the facts that only the host has. Shows an unreadable log as `damaged`. */
  viewAgents(rows: readonly AgentRow[]): Promise<readonly AgentView[]>;
  readonly openWorkspace: (folder: string) => Pick<Workspace, "stat" | "read" | "list">;
  /** Recalls from this namespace and the shared one, best first. `count`: null for the number in the settings. */
  recall(namespace: string, query: string, count: number | null): Promise<readonly Recall[]>;
}

export function createStoreReading(parts: ReadingParts): Reading {
  const { reader } = parts;
  const find = (name: string): Promise<AgentRow> => findAgent(reader, name);
  return {
    agents: async () => parts.viewAgents(await reader.agents()),
    agent: async (name) => viewAgent(await find(name), parts),
    details: async (name) => loadDetails(await find(name), reader, parts.viewAgents, parts.clock.now()),
    state: (name) => loadAgent(reader, name),
    goals: async (name) => loadGoals(await find(name), reader),
    plan: async (name) => loadPlan(await find(name), reader),
    waiting: () => listWaiting(parts),
    page: async (name, after, limit) => {
      const { id, head } = await find(name);
      return { events: await reader.read(id, after, limit), head };
    },
    steps: async (name, page) => listSteps(await find(name), page, reader),
    step: async (name, step) => {
      const { loadStep } = await import("#views/whole-step.ts");
      return loadStep(await find(name), step, reader, parts);
    },
    files: async (name, { versions: isWhole = true } = {}) => {
      const row = await find(name);
      const versions = await reader.files(row.id);
      return { workspace: folderOf(row, parts), files: latestFiles(versions), versions: isWhole ? versions : [] };
    },
    file: async (name, path, step) => {
      const row = await find(name);
      const workspace = parts.openWorkspace(folderOf(row, parts));
      if (step !== null) requireTaken(step, (await stateOf(reader, row)).step, row.id);
      const versions = step === null ? [] : await reader.files(row.id);
      return loadFileContent({ agent: row.id, path, step }, versions, reader, workspace);
    },
    fileStory: async (name, path) => {
      const row = await find(name);
      return loadFileStory(row, { path, workspace: folderOf(row, parts) }, reader, parts);
    },
    diff: async (name, request) => {
      const { diffAgent } = await import("#views/file-diff.ts");
      return diffAgent(await find(name), request, reader);
    },
    restorePlan: async (name, step, paths) => {
      const { planRestore, summarizePlan } = await import("#views/restore-plan.ts");
      const row = await find(name);
      const workspace = folderOf(row, parts);
      const plan = await planRestore(row, { step, paths }, { reader, workspace: parts.openWorkspace(workspace) });
      return summarizePlan(plan, { agent: row.id, step, workspace });
    },
    report: async (name) => {
      const { gatherReport } = await import("#views/report-facts.ts");
      const row = await find(name);
      const view = await viewAgent(row, parts);
      return gatherReport(row, reader, () => view, view.head);
    },
    memories: (place, filter) => listMemories(place, filter, reader),
    memoryPage: (place, page) => loadMemoryPage(place, page, reader),
    memory: async (place, id) => viewRow(await loadMemory(place, id, reader)),
    searchMemory: async (place, query, limit) => {
      const { id } = await findNamespace(reader, place);
      if (query.trim() === "")
        throw new GoaldError("GOALD_USAGE", "Expected words to search for, got none.", {
          hint: `Such as: goald memory ${id} search "opening hours"`,
        });
      return { namespace: id, query, recalls: await viewRecalls(await parts.recall(id, query, limit)) };
    },
    verify: async (name) => reader.verify(name === null ? undefined : (await find(name)).id),
  };
}

const folderOf = ({ folder }: AgentRow, { workspaceFolder }: ReadingParts): string => join(workspaceFolder, folder);

const viewAgent = async (row: AgentRow, { viewAgents }: ReadingParts): Promise<AgentView> =>
  (await viewAgents([row]))[0] as AgentView;

/** Lists the oldest first. Agents that are paused, or have an unreadable log, are skipped. */
async function listWaiting(parts: ReadingParts): Promise<readonly WaitingView[]> {
  const { reader, openWorkspace, viewAgents } = parts;
  const turn = createTurns();
  const found: WaitingView[] = [];
  const rows = await reader.agents();
  const views = await viewAgents(rows);
  for (const row of rows.filter((_, at) => views[at]?.standing.kind === "waiting")) {
    const changeOf = async (command: WaitingView["command"]) =>
      (await import("#views/file-diff.ts")).changeOf(command, openWorkspace(folderOf(row, parts)));
    const waiting = await loadWaiting(row, reader, changeOf).catch(() => null);
    if (waiting) found.push(waiting);
    await turn();
  }
  return found.sort((a, b) => (a.since < b.since ? -1 : 1));
}
