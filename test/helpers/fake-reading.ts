/** fake-reading.ts -- a `Reading` whose replies are samples of their schemas, and that writes every call down. */
import type { Reading } from "#api/control.ts";
import type { Schema, Static } from "#util/schema.ts";
import { AgentDetails } from "#views/agent-details.ts";
import { DiffView } from "#views/file-diff.ts";
import { FileStory } from "#views/file-story.ts";
import { FileContent, FileList } from "#views/file-versions.ts";
import { MemoryList, MemoryPage, type MemoryPlace, MemorySearch, MemoryView } from "#views/memory-view.ts";
import { VerifyView } from "#views/parts.ts";
import { PlanView } from "#views/plan-view.ts";
import { GoalsView, LoadedAgent } from "#views/read-agent.ts";
import { ReportFacts } from "#views/report-facts.ts";
import { RestorePlan } from "#views/restore-plan.ts";
import { StepPage } from "#views/step-view.ts";
import { WaitingView } from "#views/waiting.ts";
import { WholeStep } from "#views/whole-step.ts";

type Enter = (method: string, ...given: readonly unknown[]) => Promise<void>;

/** `requireAgent` throws GOALD_NOT_FOUND for an unknown agent. */
export function fakeReading(
  enter: Enter,
  requireAgent: (name: string) => void,
): Omit<Reading, "agents" | "agent" | "page"> {
  const reply =
    <S extends Schema>(method: keyof Reading, schema: S) =>
    async (name: string | MemoryPlace | null, ...given: readonly unknown[]): Promise<Static<S>> => {
      await enter(method, name, ...given);
      const agent = typeof name === "object" ? (name?.name ?? "shared") : name;
      if (agent !== "shared") requireAgent(agent);
      return sampleOf(schema);
    };
  return {
    details: reply("details", AgentDetails),
    state: reply("state", LoadedAgent),
    goals: reply("goals", GoalsView),
    plan: reply("plan", PlanView),
    waiting: async () => {
      await enter("waiting");
      return [sampleOf(WaitingView)];
    },
    steps: reply("steps", StepPage),
    step: reply("step", WholeStep),
    files: reply("files", FileList),
    file: reply("file", FileContent),
    fileStory: reply("fileStory", FileStory),
    diff: reply("diff", DiffView),
    restorePlan: reply("restorePlan", RestorePlan),
    report: reply("report", ReportFacts),
    memories: reply("memories", MemoryList),
    memoryPage: reply("memoryPage", MemoryPage),
    memory: reply("memory", MemoryView),
    searchMemory: reply("searchMemory", MemorySearch),
    verify: reply("verify", VerifyView),
  };
}

/** A small value that the schema accepts. */
export function sampleOf<S extends Schema>(schema: S): Static<S> {
  return sample(schema) as Static<S>;
}

function sample(schema: Schema): unknown {
  const { type, anyOf, properties, items, format, minimum } = schema as Readonly<Record<string, unknown>>;
  if (Array.isArray(schema.enum)) return schema.enum[0];
  if (Array.isArray(anyOf)) return sample(anyOf[0]);
  switch (Array.isArray(type) ? type[0] : type) {
    case "object":
      return Object.fromEntries(
        Object.entries((properties ?? {}) as Record<string, Schema>).map(([name, each]) => [name, sample(each)]),
      );
    case "array":
      return [sample(items as Schema)];
    case "integer":
    case "number":
      return minimum ?? 0;
    case "boolean":
      return true;
    case "string":
      return format === "date-time" ? "2026-01-01T00:00:00.000Z" : "text";
    default:
      return "anything";
  }
}
