/** parts.ts -- schemas of core types that several views contain. */
import type { CommandCall } from "#core/call.ts";
import type { RecordedEvent, Usage } from "#core/event.ts";
import type { FileVersion, VerifyReport } from "#core/ports/store.ts";
import { MAX_SOURCES, type OutsideSource, type Received } from "#core/provenance.ts";
import type { AgentState } from "#core/state.ts";
import type { Thoughts } from "#reply/thoughts.ts";
import {
  amount,
  closed,
  count,
  described,
  flag,
  listOf,
  nullable,
  type ObjectSchema,
  oneOf,
  open,
  recordOf,
  type Schema,
  type SchemasOf,
  text,
  time,
  typed,
} from "#util/schema.ts";

export const Call: ObjectSchema<CommandCall> = open({
  name: text,
  args: recordOf({}),
} satisfies SchemasOf<CommandCall>);

export const ThoughtsView: ObjectSchema<Thoughts> = open({
  text,
  reasoning: text,
  plan: text,
  criticism: text,
  speak: text,
} satisfies SchemasOf<Thoughts>);

const sourceMembers = {
  from: oneOf("web", "agent"),
  name: described(text, "The host, or the id of the agent; empty when it is not known."),
  file: described(text, "The file that the words were read from."),
} satisfies SchemasOf<OutsideSource>;
export const OutsideSourceView: ObjectSchema<OutsideSource> = open(sourceMembers, "file");
const receivedMembers = {
  ...sourceMembers,
  step: described(count, "The step in which the agent first read it."),
  at: time,
} satisfies SchemasOf<Received>;
export const ReceivedView: ObjectSchema<Received> = open(receivedMembers, "file");

export const usageMembers = {
  inputTokens: count,
  outputTokens: count,
  cachedTokens: count,
  estimated: described(flag, "goald counted, because the server did not report usage."),
} satisfies SchemasOf<Omit<Usage, "allowedTokens">>;
const allowedTokens = described(count, "The request's maximum; absent unless the server reported more output tokens.");
export const UsageView: ObjectSchema<Usage> = open({ ...usageMembers, allowedTokens }, "allowedTokens");

/** May have been charged: reserved for calls whose end nobody saw. */
export const Lost: ObjectSchema<AgentState["lost"]> = open({ tokens: count, usd: amount });

export const Operation = oneOf("write", "append", "delete", "found", "place", "trust");

/** Sources as a request gives them: those of a row that is imported. */
export const GivenSources: Schema<readonly OutsideSource[]> = listOf(
  closed({ from: oneOf("web", "agent"), name: { ...text, maxLength: 300 } as Schema<string> }),
  { maxItems: MAX_SOURCES },
);
export const OutsideSources: Schema<readonly OutsideSource[]> = listOf(OutsideSourceView);

export const IsRestored = described(flag, "A restoration by a person led to it, after the end of its step.");

export const FileVersionView: ObjectSchema<FileVersion> = open(
  {
    path: text,
    operation: Operation,
    bytes: count,
    sha256: nullable(text),
    step: count,
    callId: text,
    at: time,
    outside: described(OutsideSources, "Sources of the outside words in it. Absent: none."),
  } satisfies SchemasOf<FileVersion>,
  "outside",
);

export const EventView = described(
  typed<RecordedEvent>(open({ v: count, seq: { type: "integer", minimum: 1 }, at: time, frame: count, type: text })),
  "One event of an agent's log; each type has members of its own.",
);

export const patchMembers = {
  added: described(nullable(count), "Lines; null for a file that is not compared by lines."),
  removed: nullable(count),
  patch: described(nullable(text), "Unified diff; null for a file that is not compared by lines."),
  note: described(text, "Why there is no patch; empty when there is one."),
};

export const VerifyView: ObjectSchema<VerifyReport> = open({
  agents: count,
  events: count,
  problems: described(listOf(text), "Each a sentence; empty means sound."),
} satisfies SchemasOf<VerifyReport>);
