/**
 * ask-model.ts -- one model call: recall, build the prompt, send the request, read the reply. Each request carries the
 * maximum size of its reply, so that what it may cost is what the intent reserves. A request that leaves no room for a
 * useful reply is not sent. The reservation counts until the actual usage is known, so that limits survive a crash. A
 * server that ignores the maximum pauses the agent.
 */
import { commandCallId } from "#core/call.ts";
import { TASK_COMPLETE } from "#core/command.ts";
import type { Move } from "#core/decide.ts";
import { isGoaldError } from "#core/errors.ts";
import type { ModelSpending, NewEvent, OutputMode, TurnMemory } from "#core/event.ts";
import { countIfSpent, LEAST_REPLY_TOKENS, limitExceededBy } from "#core/limits.ts";
import { SHARED_MEMORY, sourcesOfRecall } from "#core/memory.ts";
import type { Clock } from "#core/ports/clock.ts";
import type { CountTokens, LongTermMemory, RecallQuery } from "#core/ports/memory.ts";
import type { LanguageModel, ModelCapabilities } from "#core/ports/model.ts";
import type { FolderSight } from "#core/ports/workspace.ts";
import { addSources, type OutsideSource } from "#core/provenance.ts";
import { type ActionForm, type AgentState, activeFrame, formOfFrame, type Message } from "#core/state.ts";
import { headOf, oneLine } from "#core/text.ts";
import { buildPrompt, type Prompt } from "#prompt/build.ts";
import { describeFolder } from "#prompt/situation.ts";
import { enclosingMessages, turnRequestMessages } from "#prompt/subtask.ts";
import type { CommandOffer } from "#prompt/system.ts";
import { fitTurns } from "#prompt/turns.ts";
import { templatesOf, type Words } from "#prompt/words.ts";
import { readWrittenAction, thoughtIn } from "#reply/find-call.ts";
import { parseShallowJson } from "#reply/json.ts";
import { lastThought } from "#reply/reply-thoughts.ts";
import { splitAction } from "#reply/split-action.ts";
import { once, rememberBy } from "#util/caches.ts";
import { asRecord } from "#util/json.ts";
import { hashRequest } from "#views/request-hash.ts";
import { afterFailure, believedContext } from "./after-failure.ts";
import type { CommandsFor } from "./command-set.ts";
import type { CheckOutgoing, Journal, PauseReason } from "./journal.ts";
import { type MethodParts, suggestForReply } from "./method-search.ts";
import {
  capReply,
  countEmbeddings,
  fitRoom,
  leftOf,
  NOTHING,
  type Pricing,
  type Room,
  replied,
  reserve,
  spentOnCut,
} from "./reply-budget.ts";
import { chooseMode, replyFormOf } from "./reply-forms.ts";
import type { CommandParts } from "./run-command.ts";
import { effectless, type PreparedMove } from "./run-parts.ts";

export type PerformParts = AskParts & CommandParts;
/**
 * Prepares a move: an intent to write first, and an action to do then. It reads what it needs and changes nothing. The
 * main loop commits the returned intent before `perform` begins; `perform` returns the result as events.
 */
export type PrepareMove = (
  move: Extract<Move, { kind: "ask" | "read" | "execute" | "probe" }>,
  journal: Journal,
) => Promise<PreparedMove>;

/**
 * The first move opens the parts: an agent that only waits or is paused asks no model and runs no command. The first command
 * loads what runs commands, so that it does not delay the first request.
 */
export function createMovePreparer(open: () => PerformParts): PrepareMove {
  const partsNow = once(open);
  // An import that is repeated at each step costs 3 % of the step.
  let commands: typeof import("./run-command.ts") | undefined;
  return async (move, journal) => {
    const parts = partsNow();
    if (move.kind === "ask") return ask(move, journal, parts);
    if (move.kind === "read") return read(move, journal, parts);
    commands ??= await import("./run-command.ts");
    return move.kind === "execute" ? commands.execute(move, journal, parts) : commands.probe(move, journal, parts);
  };
}

export interface AskParts extends ComposeParts, MethodParts, Pricing {
  readonly model: LanguageModel;
  /** Model of agents without a model of their own. */
  readonly modelName: string;
  /** Model used when an agent's own model fails permanently. */
  readonly fallbackModel?: string | null;
  /** Sizes for a given model. */
  roomOf(model: string): Room;
  /** Receives the reply's text as it arrives, for display only. */
  readonly onText?: (piece: string) => void;
  /** Returns the text that each call would send out (policy.ts). Absent: no call is judged by its text. */
  readonly checkOutgoing?: CheckOutgoing;
  /** Random number from 0 to 1 for retry delays and the seeds of cells. Default: Math.random. */
  random?(): number;
}

async function ask(move: Extract<Move, { kind: "ask" }>, journal: Journal, parts: AskParts): Promise<PreparedMove> {
  const { step, callId, attempt } = move;
  const { state } = journal;
  const model = modelFor(state, parts);
  const price = parts.priceOf?.(model);
  // Checked before the recall too, because it may send a request.
  const hopeless = limitExceededBy({ model, tokens: 0, usd: price ? 0 : null }, state);
  if (hopeless) return pause(hopeless);
  const terms = await parts.model.terms?.(model);
  const embeddings = countEmbeddings(parts);
  const room = fitRoom(parts.roomOf(model), terms?.contextTokens ?? null);
  const counting = { ...parts, countTokens: embeddings.countTokens };
  const { prompt, mode, attached, formatTokens } = await composeRequest(step, state, counting, room, terms);
  const spent = embeddings.spent();
  if ("tooLong" in prompt) {
    // Nothing can be left out any more. Forget the assumed limit, so that a resume measures it again.
    if (terms?.contextTokens) await parts.model.noteContext?.(model, null);
    return pause({ code: "prompt-too-long", reason: prompt.tooLong }, spent);
  }
  const inputTokens = prompt.tokens + formatTokens;
  const least = Math.min(LEAST_REPLY_TOKENS, room.replyTokens);
  const paid = countIfSpent(state, spent);
  const limit = limitExceededBy({ model, ...reserve(inputTokens, least, price) }, paid);
  if (limit) return pause(limit, spent);
  const need = { ...room, inputTokens, cutReplies: state.cutReplies, mostTokens: terms?.replyTokens ?? null, price };
  const maxTokens = capReply(need, leftOf(paid, NOTHING));
  const reserved = reserve(inputTokens, maxTokens, price);
  const request = { model, messages: prompt.messages, maxTokens };
  const asked: NewEvent = {
    type: "model-asked",
    step,
    callId,
    attempt,
    epoch: journal.lease.epoch,
    model,
    mode,
    requestHash: hashRequest(model, prompt.messages),
    recallIds: prompt.recallIds,
    ...(prompt.recallIds.length > 0 ? { shown: prompt.shown } : {}),
    ...(spent ? { spent } : {}),
    ...(prompt.folder === "" ? {} : { folder: prompt.folder }),
    ...(prompt.outside.length > 0 ? { outside: prompt.outside } : {}),
    reservedTokens: reserved.tokens,
    reservedUsd: reserved.usd,
  };
  return {
    intent: { events: [asked] },
    perform: async () => {
      const startedAt = parts.clock.now();
      const answer = await parts.model.complete({ ...request, mode, ...attached }, parts.signal, parts.onText);
      const now = parts.clock.now();
      if (answer.kind === "failed") {
        if (answer.code === "context-overflow")
          await parts.model.noteContext?.(model, believedContext(answer, reserved.tokens));
        const { fallbackModel = null, random = Math.random } = parts;
        const failure = { ...answer, ...spentOnCut(answer, inputTokens, price) };
        return {
          events: afterFailure(failure, { step, callId, model }, journal.state, { now, random, fallbackModel }),
        };
      }
      const durationMs = Math.max(0, now.getTime() - startedAt.getTime());
      // A replay receives the redacted text, and must estimate the same usage.
      const text = journal.scrub(answer.text);
      const call = { step, callId, price, promptTokens: prompt.tokens, maxTokens };
      return { events: replied({ ...answer, text }, call, durationMs) };
    },
  };
}

/** The agent's own model, or the fallback during its time. */
function modelFor({ settings, fallback }: AgentState, { clock, modelName }: AskParts): string {
  const own = settings.model ?? modelName;
  return fallback && clock.now().getTime() < Date.parse(fallback.until) ? fallback.model : own;
}

const pause = (why: PauseReason, spent?: ModelSpending): PreparedMove =>
  effectless({ events: [{ type: "agent-paused", ...why, ...(spent ? { spent } : {}) }] });

async function read(move: Extract<Move, { kind: "read" }>, journal: Journal, parts: AskParts): Promise<PreparedMove> {
  const { step, finishReason } = move;
  const frame = activeFrame(journal.state);
  const { phase } = frame;
  const form = replyFormOf(phase.kind === "reading" ? phase.mode : "plain");
  const commands = parts.commandsFor(journal.state);
  const reply = await journal.read(move.reply);
  const reading = form.read(commands, reply, finishReason, journal.state);
  const isFinal = reading.kind === "problem" && frame.kind === "run" && commands.get(reading.command ?? "")?.closesTurn;
  // Neither a truncated reply nor a result of another type says that the server rejects the output mode.
  if (phase.kind === "reading" && finishReason !== "length")
    await parts.model.noteReply?.(phase.model, phase.mode, reading.kind === "command" || isFinal === true);
  if (reading.kind === "problem") {
    const bad = isFinal ? { isBadResult: true as const } : {};
    const problems = [...reading.problems, ...(await suggestForReply(reading, journal.state, parts))];
    return effectless({ events: [{ type: "reply-rejected", step, problems, ...bad }] });
  }
  const { call: written, further = [], repaired, thoughts } = reading;
  const thought = thoughts.speak || thoughts.text;
  const isBare = written.name === TASK_COMPLETE && String(written.args.reason).trim() === "";
  const call = isBare ? { ...written, args: { reason: thought || lastThought(frame.window) } } : written;
  const calls = [{ call, thought }, ...further];
  const leaving = await parts.checkOutgoing?.(
    calls.map(({ call }) => call),
    journal,
  );
  const events = calls.map(({ call, thought }, index): NewEvent => {
    const of = { step, callId: commandCallId(frame, step, index) };
    const leaves = leaving?.[index] ? { leaving: leaving[index] } : {};
    return { type: "command-requested", ...of, call, thought: oneLine(thought, 400), repaired, ...leaves };
  });
  return effectless({ events });
}

interface ComposeParts {
  readonly agentId: string;
  readonly memory: LongTermMemory;
  readonly recallCount: number;
  /** Default: the prompt shows no files. */
  lookAtFolder?(): Promise<FolderSight>;
  /** Further namespaces to recall from. Default: the shared memory. */
  readonly others?: readonly string[];
  readonly commandsFor: CommandsFor;
  readonly words: Words;
  readonly clock: Clock;
  /** Aborted when the host shuts down at once. */
  readonly signal: AbortSignal;
}

type PayingParts = ComposeParts & { readonly countTokens: CountTokens };

/** Uses a schema only when its tokens fit into the context window. Tools are the commands: without them there are none. */
async function composeRequest(
  step: number,
  state: AgentState,
  parts: PayingParts,
  room: Room,
  terms: ModelCapabilities | undefined,
) {
  const sight = { step, folder: await parts.lookAtFolder?.() };
  const commands = parts.commandsFor(state);
  const mode = chooseMode(formOfFrame(state), terms, commands);
  const attached = replyFormOf(mode).attach(commands, mode);
  const { replySchema, tools } = commands.formatChars;
  const formatChars = (attached.replySchema ? replySchema : 0) + (attached.tools ? tools : 0);
  const formatTokens = Math.ceil(formatChars / CHARS_PER_TOKEN);
  const less = { ...room, contextTokens: room.contextTokens - formatTokens };
  const prompt = await composePrompt(state, parts, less, sight, mode);
  if (mode !== "json_schema" || !("tooLong" in prompt)) return { prompt, mode, attached, formatTokens };
  const bare = await composePrompt(state, parts, room, sight, "json_object");
  return { prompt: bare, mode: "json_object" as const, attached: {}, formatTokens: 0 };
}

/** For JSON that is mostly names and brackets. */
const CHARS_PER_TOKEN = 4;

/** Steps of the messages and memories of turns in the prompt are never recalled. */
async function composePrompt(
  state: AgentState,
  parts: PayingParts,
  { contextTokens, replyTokens }: Room,
  sight: { readonly step: number; readonly folder: FolderSight | undefined },
  mode: OutputMode,
): Promise<
  (Prompt & { readonly outside: readonly OutsideSource[]; readonly folder: string }) | { readonly tooLong: string }
> {
  const messages = [...enclosingMessages(state), ...turnRequestMessages(state), ...activeFrame(state).window];
  const turns = fitTurns(state, parts.words, contextTokens).map(({ turn }) => turn);
  const recalls = await parts.memory.recall(
    {
      agent: parts.agentId,
      others: parts.others ?? [SHARED_MEMORY],
      ...describeWork(state),
      count: parts.recallCount,
      excludeSteps: new Set([...turns, ...messages].map(({ step }) => step)),
      shownTurns: wholeTurns(turns, state),
      waiting: state.frames.flatMap(({ origin }) => (origin ? [{ step: origin.step, seq: origin.seq }] : [])),
      countTokens: parts.countTokens,
    },
    parts.signal,
  );
  const { words, commandsFor } = parts;
  const offer: CommandOffer = commandsFor(state);
  try {
    const now = parts.clock.now();
    const folder = sight.folder ? describeFolder(sight.folder, now) : "";
    const known = { ...offer, state, form: templatesOf(mode), recalls, words, step: sight.step, folder };
    const prompt = buildPrompt({ ...known, contextTokens, replyTokens, now });
    const sources = prompt.recalledRows.flatMap((row) => sourcesOfRecall(row, parts.agentId, state.trustedSeq));
    return { ...prompt, outside: addSources([], sources), folder };
  } catch (error) {
    if (isGoaldError(error, "GOALD_PROMPT_TOO_LONG"))
      return { tooLong: error.hint ? `${error.message} ${error.hint}` : error.message };
    throw error;
  }
}

/** Those of the turns, oldest first, whose memory has all calls that succeeded. The one before the oldest is no longer known. */
const wholeTurns = (turns: readonly TurnMemory[], state: AgentState): Required<RecallQuery>["shownTurns"] =>
  turns.flatMap(({ turn, step, callsLeftOut }) => {
    const before = turn === 1 ? { step: 0 } : state.turns.find((other) => other.turn === turn - 1);
    return before && callsLeftOut === 0 ? [{ afterStep: before.step, upToStep: step }] : [];
  });

interface Part {
  readonly text: string;
  readonly weight: number;
}

const WEIGHTS = { thoughts: 1, person: 1, command: 0.5, result: 0.3, goals: 0.3 } as const;
const OLDER_COUNTS = 0.9;
/** Characters of a result that are used: results start with their topic. */
const RESULT_CHARS = 600;

/**
 * Builds the query to long-term memory from the newest messages: texts and their weights, newest last. The goals come
 * first and are the only text at the start. The words that opened the turn come last, because the first texts of many
 * are left out. Thoughts count most, because they contain what the agent needs to know; the chosen command counts less,
 * results least. A person's words count like thoughts; those that opened a later turn count at least as much as the
 * goals. Each message counts a little less than the next newer one. Pure.
 */
export function describeWork(state: AgentState): Required<Pick<RecallQuery, "texts" | "weights">> {
  const { window } = activeFrame(state);
  const parts: Part[] = [{ text: state.goals.join("\n"), weight: WEIGHTS.goals }];
  for (const [at, message] of window.entries()) {
    const age = OLDER_COUNTS ** (window.length - 1 - at);
    for (const { text, weight } of partsOf(message)) parts.push({ text, weight: weight * age });
  }
  const asked = state.asked.map(({ text }) => headOf(text)).join("\n");
  if (asked !== "")
    parts.push({ text: asked, weight: Math.max(WEIGHTS.goals, WEIGHTS.person * OLDER_COUNTS ** window.length) });
  return { texts: parts.map(({ text }) => text), weights: parts.map(({ weight }) => weight) };
}

const partsOf = rememberBy(({ kind, text, form }: Message): readonly Part[] => {
  const head = headOf(text);
  switch (kind) {
    case "reply":
      if (form === "plan") return ofAction(head);
      return form ? ofProse(head, form) : ofReply(head);
    case "feedback":
    case "task":
      return [{ text: head, weight: WEIGHTS.person }];
    case "result":
    case "report":
    case "problem":
      return [{ text: head.slice(0, RESULT_CHARS).toWellFormed(), weight: WEIGHTS.result }];
  }
});

/** Splits a reply into thoughts and command. A reply that is not plain JSON is used as a whole. */
function ofReply(text: string): readonly Part[] {
  // Deeper nesting would overflow the stack in `wordsIn`.
  const { thoughts, command } = asRecord(parseShallowJson(text));
  if (!thoughts && !command) return [{ text, weight: WEIGHTS.thoughts }];
  return [
    { text: wordsIn(command), weight: WEIGHTS.command },
    { text: wordsIn(thoughts), weight: WEIGHTS.thoughts },
  ];
}

function ofProse(text: string, form: ActionForm): readonly Part[] {
  const { thought, code } = splitAction(text, form);
  return [
    ...(code === null ? [] : [{ text: code, weight: WEIGHTS.command }]),
    { text: thought, weight: WEIGHTS.thoughts },
  ];
}

/** A thought is an action of its own. */
function ofAction(text: string): readonly Part[] {
  const action = readWrittenAction(text);
  if (!action) return [{ text, weight: WEIGHTS.thoughts }];
  const thought = thoughtIn(action);
  return thought === ""
    ? [{ text: wordsIn(action), weight: WEIGHTS.command }]
    : [{ text: thought, weight: WEIGHTS.thoughts }];
}

/** The values of the object, without the keys that every reply has. */
function wordsIn(value: unknown): string {
  if (typeof value === "string") return value;
  if (typeof value !== "object" || value === null) return value === undefined || value === null ? "" : String(value);
  return Object.values(value)
    .map(wordsIn)
    .filter((words) => words !== "")
    .join("\n");
}
