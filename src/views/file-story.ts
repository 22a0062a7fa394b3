/**
 * file-story.ts -- why a file is there: for each of its versions the goals, the step, the thoughts, and what was read before it.
 *
 * Gathered from one pass over the log. The sources of a version are those of the steps since the version before:
 * what the model really used of them nobody can know, and the story does not claim it.
 */

import type { CommandCall } from "#core/call.ts";
import type { RecordedEvent } from "#core/event.ts";
import { namespaceOf } from "#core/memory.ts";
import type { FileVersion } from "#core/ports/file-version.ts";
import { isBlobRef, type Text } from "#core/text.ts";
import { isByPerson } from "./restore-version.ts";
import { createSourceReader, type Source } from "./sources.ts";

export interface VersionStory {
  /** From 1, oldest first. */
  readonly version: number;
  readonly step: number;
  readonly callId: string;
  readonly at: string;
  readonly operation: FileVersion["operation"];
  readonly by: "agent" | "person";
  readonly bytes: number;
  readonly sha256: string | null;
  /** As they were then. */
  readonly goals: readonly string[];
  /** Long arguments cut; null for a person's change. */
  readonly command: CommandCall | null;
  /** One line; empty for a person's change. */
  readonly thought: string;
  /** The whole reply that the command came from, or where it lies. */
  readonly reply: Text | null;
  readonly finishReason: string;
  /** Earlier steps that stood in the prompt as recalls. */
  readonly recalledSteps: readonly number[];
  /** Read since the version before, the newest last. */
  readonly sources: readonly Source[];
  /** How many older ones are left out. */
  readonly sourcesLeftOut: number;
}

const MAX_SOURCES = 30;
const ARGUMENT_CHARS = 200;

interface StepStory {
  goals: readonly string[];
  command: CommandCall | null;
  thought: string;
  reply: Text | null;
  finishReason: string;
  recalledSteps: readonly number[];
}

/** `versions`: of one path of that agent, oldest first. `events`: the log from its beginning. */
export async function tellFile(
  agent: string,
  versions: readonly FileVersion[],
  events: AsyncIterable<RecordedEvent>,
): Promise<readonly VersionStory[]> {
  const steps = new Map<number, StepStory>(versions.map(({ step }) => [step, emptyStory()]));
  const lastStep = versions.at(-1)?.step ?? 0;
  const readSource = createSourceReader();
  const sources: Source[] = [];
  const stepOfSeq: number[] = [];
  let goals: readonly string[] = [];
  let step = 0;
  for await (const event of events) {
    if ("step" in event) step = event.step;
    if (step > lastStep) break;
    stepOfSeq[event.seq] = step;
    const source = readSource(event);
    if (source) sources.push(source);
    if (event.type === "agent-created" || event.type === "goals-changed") goals = event.goals;
    const story = steps.get(step);
    if (story) addTo(story, event, goals, (recall) => stepOfRecall(recall, agent, stepOfSeq));
  }
  return versions.map((version, index) => {
    const before = versions[index - 1]?.step ?? 0;
    const since = sources.filter((source) => source.step > before && source.step <= version.step);
    return storyOf(version, index + 1, steps.get(version.step) ?? emptyStory(), since);
  });
}

const emptyStory = (): StepStory => ({
  goals: [],
  command: null,
  thought: "",
  reply: null,
  finishReason: "",
  recalledSteps: [],
});

/** 0 for what no step of this agent left. */
function stepOfRecall(id: string, agent: string, stepOfSeq: readonly number[]): number {
  const [, seq] = /\/(\d+)(?:\.\d+)?$/.exec(id) ?? [];
  return seq === undefined || namespaceOf(id) !== agent ? 0 : (stepOfSeq[Number(seq)] ?? 0);
}

function addTo(
  story: StepStory,
  event: RecordedEvent,
  goals: readonly string[],
  stepOf: (recallId: string) => number,
): void {
  switch (event.type) {
    case "model-asked": {
      const recalled = event.recallIds.map(stepOf);
      story.recalledSteps = [...new Set(recalled.filter((step) => step > 0))].sort((a, b) => a - b);
      story.goals = goals;
      break;
    }
    case "model-replied":
      story.reply = event.text;
      story.finishReason = event.finishReason;
      break;
    case "command-requested":
      story.command = brief(event.call);
      story.thought = event.thought;
      break;
    default:
  }
}

function storyOf(version: FileVersion, number: number, story: StepStory, since: readonly Source[]): VersionStory {
  const { step, callId, at, operation, bytes, sha256 } = version;
  const byPerson = isByPerson(version);
  const of = { version: number, step, callId, at, operation, bytes, sha256 };
  const sources = since.slice(-MAX_SOURCES);
  const read = { goals: story.goals, sources, sourcesLeftOut: since.length - sources.length };
  if (byPerson)
    return {
      ...of,
      by: "person",
      ...read,
      command: null,
      thought: "",
      reply: null,
      finishReason: "",
      recalledSteps: [],
    };
  return { ...of, by: "agent", ...story, ...read };
}

/** What was written is in the file: of a long argument the beginning is enough. */
function brief({ name, args }: CommandCall): CommandCall {
  const short = (value: unknown): unknown => {
    if (isBlobRef(value)) return `${value.head.slice(0, ARGUMENT_CHARS).toWellFormed()}…`;
    if (typeof value !== "string" || value.length <= ARGUMENT_CHARS) return value;
    return `${value.slice(0, ARGUMENT_CHARS).toWellFormed()}…`;
  };
  return { name, args: Object.fromEntries(Object.entries(args).map(([key, value]) => [key, short(value)])) };
}
