/**
 * perform.ts -- from a move to work: what to write first, and what to do then.
 *
 * `prepare` looks at the world and changes nothing; the intent that it returns is
 * committed by the main loop before `act` begins. `act` returns what came back, as events.
 */
import { createHash } from "node:crypto";
import { type CallFrame, type Execution, prepareCall, probeCall, runCall } from "#commands/execute.ts";
import type { RegisteredCommand, Registry } from "#commands/registry.ts";
import { commandCallId, type Move, outcomeUnknown } from "#core/decide.ts";
import { isGoaldError } from "#core/errors.ts";
import type { NewEvent } from "#core/event.ts";
import type { Clock, LanguageModel, LongTermMemory, ModelAnswer, OpenWorkspace } from "#core/ports.ts";
import { type AgentState, activeFrame, openCommand } from "#core/state.ts";
import { headOf, isBlobRef, oneLine, type Text } from "#core/text.ts";
import { buildPrompt, type Prompt } from "#prompt/build.ts";
import type { Words } from "#prompt/template.ts";
import { estimateTokens } from "#prompt/tokens.ts";
import type { Reading } from "#reply/read.ts";
import type { Journal, Outcome } from "./journal.ts";

export interface Work {
  /** Durable before `act` begins; null when `act` has no effect outside. */
  readonly intent: Outcome | null;
  act(): Promise<Outcome>;
}
type WorkMove = Extract<Move, { kind: "ask" | "read" | "execute" | "probe" }>;
export type Prepare = (move: WorkMove, journal: Journal) => Promise<Work>;

export interface PerformParts {
  readonly agentId: string;
  /** Absolute path of the agent's folder. */
  readonly folder: string;
  readonly model: LanguageModel;
  readonly modelName: string;
  readonly memory: LongTermMemory;
  readonly recallCount: number;
  readonly registry: Registry;
  readonly commandList: string;
  readonly words: Words;
  readonly contextTokens: number;
  readonly replyTokens: number;
  readReply(text: string, finishReason: string): Reading;
  readonly openWorkspace: OpenWorkspace;
  readonly openOwnWorkspace: OpenWorkspace;
  readonly clock: Clock;
  /** Aborted when the host goes down at once. */
  readonly signal: AbortSignal;
}

export function createPrepare(parts: PerformParts): Prepare {
  return (move, journal) => {
    switch (move.kind) {
      case "ask":
        return ask(move, journal, parts);
      case "read":
        return read(move, journal, parts);
      case "execute":
        return execute(move, journal, parts);
      case "probe":
        return probe(move, journal, parts);
    }
  };
}

// ---------------------------------------------------------------- the model

async function ask(move: Extract<Move, { kind: "ask" }>, journal: Journal, parts: PerformParts): Promise<Work> {
  const { step, callId, attempt } = move;
  const prompt = await composePrompt(journal.state, parts);
  if ("tooLong" in prompt)
    return effectless({ events: [{ type: "agent-paused", code: "prompt-too-long", reason: prompt.tooLong }] });
  const request = { model: parts.modelName, messages: prompt.messages };
  const asked: NewEvent = {
    type: "model-asked",
    step,
    callId,
    attempt,
    epoch: journal.lease.epoch,
    model: parts.modelName,
    mode: "plain",
    requestHash: createHash("sha256").update(JSON.stringify(request)).digest("hex"),
    recallIds: prompt.recallIds,
    reservedTokens: prompt.tokens + parts.replyTokens,
  };
  return {
    intent: { events: [asked] },
    act: async () => {
      const startedAt = parts.clock.now();
      const answer = await parts.model.complete(request, parts.signal);
      const durationMs = parts.clock.now().getTime() - startedAt.getTime();
      return { events: answerEvents(answer, { step, callId }, prompt.tokens, durationMs, attempt, parts) };
    },
  };
}

/** The query is the short-term memory itself; what it shows is never recalled. */
async function composePrompt(state: AgentState, parts: PerformParts): Promise<Prompt | { readonly tooLong: string }> {
  const { window } = activeFrame(state);
  const recalls = await parts.memory.recall(
    {
      agent: parts.agentId,
      texts: window.length > 0 ? window.map((message) => headOf(message.text)) : [...state.goals],
      count: parts.recallCount,
      excludeSteps: new Set(window.map((message) => message.step)),
    },
    parts.signal,
  );
  const { commandList, words, contextTokens, replyTokens } = parts;
  try {
    return buildPrompt({ state, commandList, recalls, words, contextTokens, replyTokens, now: parts.clock.now() });
  } catch (error) {
    if (isGoaldError(error, "GOALD_PROMPT_TOO_LONG"))
      return { tooLong: error.hint ? `${error.message} ${error.hint}` : error.message };
    throw error;
  }
}

function answerEvents(
  answer: ModelAnswer,
  call: { readonly step: number; readonly callId: string },
  promptTokens: number,
  durationMs: number,
  attempt: number,
  parts: PerformParts,
): readonly NewEvent[] {
  if (answer.kind === "replied") {
    const { text, finishReason } = answer;
    const outputTokens = answer.usage ? 0 : estimateTokens(text);
    const usage = answer.usage ?? { inputTokens: promptTokens, outputTokens, cachedTokens: 0, estimated: true };
    return [{ type: "model-replied", ...call, text, finishReason, usage, durationMs }];
  }
  const { code, message, retry } = answer;
  if (retry) {
    const waitMs = retry.afterMs ?? backoffMs(attempt);
    const retryAt = new Date(parts.clock.now().getTime() + waitMs).toISOString();
    return [{ type: "model-failed", ...call, code, message, retryAt }];
  }
  const pauseCode = code === "unauthorized" || code === "quota-exhausted" ? "key-refused" : "model-refused";
  return [
    { type: "model-failed", ...call, code, message, retryAt: null },
    { type: "agent-paused", code: pauseCode, reason: message },
  ];
}

/** 1, 2, 4, … 60 seconds. */
const backoffMs = (attempt: number): number => Math.min(60_000, 1000 * 2 ** (attempt - 1));

async function read(move: Extract<Move, { kind: "read" }>, journal: Journal, parts: PerformParts): Promise<Work> {
  const { step, finishReason } = move;
  const reading = parts.readReply(await journal.read(move.reply), finishReason);
  if (reading.kind === "problem")
    return effectless({ events: [{ type: "reply-rejected", step, problems: reading.problems }] });
  const { call, repaired, thoughts } = reading;
  const thought = oneLine(thoughts.speak || thoughts.text, 400);
  const callId = commandCallId(step);
  return effectless({ events: [{ type: "command-requested", step, callId, call, thought, repaired }] });
}

// ---------------------------------------------------------------- commands

async function execute(move: Extract<Move, { kind: "execute" }>, journal: Journal, parts: PerformParts): Promise<Work> {
  const { callId, attempt, effect } = move;
  const open = openCommand(journal.state, callId);
  const command = open && parts.registry.get(open.call.name);
  if (!open || !command)
    return effectless(notThere(callId, open?.step ?? journal.state.step, open?.call.name ?? callId));
  const call = await callFrame(callId, command, journal, parts);
  const of = { step: open.step, callId };
  // A second attempt keeps what the first one recorded: that is what the effect is measured by.
  const earlier = open.intent?.prepared;
  const looked =
    earlier === undefined ? await prepareCall(call) : { result: { prepared: earlier }, files: [], staged: [] };
  if ("refused" in looked.result)
    return effectless({
      events: [{ type: "command-finished", ...of, observation: looked.result.refused, durationMs: 0 }],
    });
  const { prepared } = looked.result;
  const { annotations } = command;
  const { epoch } = journal.lease;
  const started: NewEvent = { type: "command-started", ...of, attempt, epoch, effect, annotations, prepared };
  return {
    intent: { events: [started], files: looked.files.map((file) => ({ ...file, ...of })) },
    act: () => act(call, prepared, of, parts),
  };
}

async function act(
  call: CallFrame,
  prepared: unknown,
  of: { readonly step: number; readonly callId: string },
  parts: PerformParts,
): Promise<Outcome> {
  const startedAt = parts.clock.now();
  const execution = await runCall(call, prepared);
  const durationMs = parts.clock.now().getTime() - startedAt.getTime();
  const { result } = execution;
  const extras = { files: execution.files.map((file) => ({ ...file, ...of })), staged: execution.staged };
  if (result.status === "waiting") {
    const { waitFor, until } = result;
    return { events: [{ type: "command-waiting", ...of, waitFor, until }], ...extras };
  }
  const closesTurn = call.command.closesTurn === true ? { closesTurn: true } : {};
  return { events: [{ type: "command-finished", ...of, observation: result, durationMs, ...closesTurn }], ...extras };
}

/** A call that a crash cut off, and that can tell whether it happened. Looking changes nothing. */
async function probe(move: Extract<Move, { kind: "probe" }>, journal: Journal, parts: PerformParts): Promise<Work> {
  const { callId } = move;
  const open = openCommand(journal.state, callId);
  const command = open && parts.registry.get(open.call.name);
  if (!open?.intent || !command)
    return effectless(notThere(callId, open?.step ?? journal.state.step, open?.call.name ?? callId));
  const call = await callFrame(callId, command, journal, parts);
  const found: Execution<"done" | "not-done" | "unknown"> = await probeCall(call, open.intent.prepared);
  const { attempt, effect } = open.intent;
  switch (found.result) {
    case "not-done":
      return execute({ kind: "execute", callId, attempt: attempt + 1, effect }, journal, parts);
    case "unknown":
      return effectless({ events: [outcomeUnknown(callId, open)] });
    case "done": {
      const of = { step: open.step, callId };
      const text = `${command.name} had been done when goald was restarted; it was not repeated.`;
      const observation = {
        status: "ok",
        text,
        source: "goald",
        artifacts: found.files.map((file) => file.path),
      } as const;
      const finished: NewEvent = { type: "command-finished", ...of, observation, durationMs: 0, reconciled: true };
      return effectless({ events: [finished], files: found.files.map((file) => ({ ...file, ...of })) });
    }
  }
}

async function callFrame(
  callId: string,
  command: RegisteredCommand,
  journal: Journal,
  parts: PerformParts,
): Promise<CallFrame> {
  const { state } = journal;
  const open = openCommand(state, callId);
  const args: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(open?.call.args ?? {}))
    args[name] = isBlobRef(value) ? await journal.read(value as Text) : value;
  const { folder, openWorkspace, openOwnWorkspace, signal } = parts;
  const agent = { id: parts.agentId, name: state.name, goals: state.goals };
  return {
    command,
    args,
    callId,
    step: open?.step ?? state.step,
    agent,
    folder,
    openWorkspace,
    openOwnWorkspace,
    signal,
  };
}

const effectless = (outcome: Outcome): Work => ({ intent: null, act: async () => outcome });

/** The catalogue has changed since the call was approved. */
function notThere(callId: string, step: number, name: string): Outcome {
  const text = `The command ${name} is not available any more.`;
  const observation = { status: "failed", code: "no-such-command", text, source: "goald", artifacts: [] } as const;
  return { events: [{ type: "command-finished", step, callId, observation, durationMs: 0 }] };
}
