/** step-schema.ts -- the members of one step, as the API returns them. */
import type { Annotations, Effect, Observation } from "#core/call.ts";
import type { Text } from "#core/text.ts";
import {
  amount,
  count,
  described,
  flag,
  listOf,
  nullable,
  oneOf,
  open,
  ordinal,
  type Static,
  text,
  time,
  typed,
} from "#util/schema.ts";
import { NestedView } from "./nested-rows.ts";
import { Call, FileVersionView, UsageView } from "./parts.ts";
import { planMembers } from "./plan-changes.ts";

const stamp = { at: time, seq: ordinal };

const Attempt = open({
  ...stamp,
  attempt: ordinal,
  model: text,
  mode: oneOf("json_schema", "json_object", "plain", "tools", "plan", "react", "code"),
  requestHash: text,
  reservedTokens: count,
  reservedUsd: nullable(amount),
  failure: nullable(open({ code: text, message: text, retryAt: nullable(time) })),
});
export type Attempt = Static<typeof Attempt>;

/** A text of the log: a reference until `openTexts` has read it. */
const LongText = described(typed<Text>({}), "Text; an object only when the text is missing from the store.");

const Reply = open({
  ...stamp,
  text: LongText,
  finishReason: text,
  durationMs: count,
  usage: UsageView,
  costUsd: nullable(amount),
});

const Approval = open({
  asked: described(nullable(text), "Why a person was asked; null when nobody was."),
  verdict: nullable(oneOf("approved", "denied")),
  by: nullable(text),
  reason: described(nullable(text), "With a denial."),
});

const Start = open({
  ...stamp,
  attempt: ordinal,
  effect: typed<Effect>(text),
  annotations: typed<Annotations>({ type: "object" }),
});

const Result = open({
  ...stamp,
  status: oneOf("ok", "failed", "denied", "cancelled", "unknown"),
  code: nullable(text),
  source: typed<Observation["source"]>(text),
  artifacts: described(listOf(text), "Workspace paths that the call created or changed."),
  text: LongText,
  durationMs: count,
  reconciled: described(flag, "A crash interrupted the call, and its effect was found done."),
});

const Spent = open({ usage: UsageView, costUsd: nullable(amount), modelCalls: ordinal });

export const stepMembers = {
  step: ordinal,
  turn: ordinal,
  startedAt: time,
  endedAt: described(time, "Time of the last event of the step."),
  goals: listOf(text),
  attempts: listOf(Attempt),
  recallIds: listOf(text),
  reply: nullable(Reply),
  problems: described(listOf(text), "Why the reply could not be used; empty when it could."),
  command: described(nullable(Call), "As parsed and validated."),
  thought: text,
  repaired: described(flag, "The JSON had to be repaired."),
  approval: Approval,
  starts: listOf(Start),
  interruptions: count,
  result: nullable(Result),
  spent: described(nullable(Spent), "What the command spent on models; null for nothing."),
  ...planMembers,
  nested: described(NestedView, "What happened inside the calls of the step."),
  files: listOf(FileVersionView),
};
const StepView = open(stepMembers);
export type StepView = Static<typeof StepView>;
