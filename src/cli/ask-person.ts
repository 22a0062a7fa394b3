/** ask-person.ts -- asks the person the followed agent's questions while its events continue. */
import type { Client } from "#api/client.ts";
import { APPROVAL_QUESTION, type ApprovalReply, readApproval } from "#cli/terminal/questions.ts";
import { isGoaldError, toError } from "#core/errors.ts";
import type { RecordedEvent } from "#core/event.ts";
import { type AgentState, activeFrame, approvalOf, questionOf } from "#core/state.ts";
import { clean } from "#util/outside-text.ts";
import { loadQuestion } from "./agents.ts";
import { type CliContext, formatCall } from "./context.ts";
import { describeApproval, describeMore } from "./terminal/describe-call.ts";

export interface QuestionsParts {
  readonly context: CliContext;
  readonly agent: string;
  /** undefined without an interactive terminal. */
  readonly ask: AskPerson | undefined;
  client(): Client;
  /** Called when the person leaves the question by Ctrl-C or the end of input. */
  onLeft(): void;
  /** Called when the person answers that the agent must stop. */
  onStop(): void;
  onFailed(error: Error): void;
}

interface OpenQuestion {
  readonly callId: string;
  readonly withdrawn: AbortController;
  readonly ended: Promise<void>;
}

export class Questions {
  readonly #parts: QuestionsParts;
  #open: OpenQuestion | undefined;
  /** Id of the call whose answer was sent, but not yet read by the agent. */
  #answered = "";
  /** The call that was asked about last. */
  #asked = "";
  #state: AgentState | undefined;
  /** Words typed before a question of the agent was shown; they are sent after its answer. */
  readonly #typedWords: string[] = [];
  /** Words on their way to the agent, oldest first, until an event shows that it has read them. */
  readonly #unread: { readonly text: string; readonly sent: Promise<boolean> }[] = [];

  constructor(parts: QuestionsParts) {
    this.#parts = parts;
  }

  /** Asks when this state waits for an approval or an answer that was not given yet. */
  lookAt(state: AgentState): void {
    this.#state = state;
    const callId = waitingCall(state);
    const { ask } = this.#parts;
    if (!ask || this.#open || callId === undefined || callId === this.#answered) return;
    const withdrawn = new AbortController();
    const ended = this.#ask(callId, ask, withdrawn.signal)
      .catch((thrown) => this.#parts.onFailed(toError(thrown)))
      .finally(() => {
        this.#open = undefined;
      });
    this.#open = { callId, withdrawn, ended };
  }

  get isOpen(): boolean {
    return this.#open !== undefined;
  }

  /** Sends the lines that were typed while nothing was asked. The agent reads them before its next step. */
  async sendTyped(): Promise<void> {
    if (this.#open) return;
    const text = joinWords(await this.#parts.context.output.takeTypedAhead());
    if (text !== "") this.#keep(text, this.#question !== undefined);
  }

  /** Resolves to false when the agent has read all words that were sent, and to true when it will. */
  async hasUnread(): Promise<boolean> {
    const sent = await Promise.all(this.#unread.map((words) => words.sent));
    return sent.includes(true);
  }

  /** The agent reads words in the order in which they were sent. */
  noteRead(event: RecordedEvent): void {
    const isAnswer = event.type === "command-finished" && event.observation.source === "person";
    if (isAnswer || event.type === "message-received") this.#unread.shift();
  }

  get #question(): string | undefined {
    return this.#state && questionOf(this.#state);
  }

  /** `isLater`: words that are sent now would answer the agent's question. */
  #keep(text: string, isLater: boolean): void {
    const { output, redact } = this.#parts.context;
    output.say(redact(`Kept for the next step: ${text.replaceAll("\n", "\n  ")}`));
    if (isLater) this.#typedWords.push(text);
    else this.#sendWords(text);
  }

  #sendWords(text: string): void {
    const { agent, context, client } = this.#parts;
    const scrubbed = context.scrub(text);
    const send = async (): Promise<boolean> => {
      try {
        await client().say(agent, { from: "a person", text: scrubbed });
        return true;
      } catch (thrown) {
        context.output.say(context.redact(clean(toError(thrown).message)));
        this.#unread.splice(this.#unread.indexOf(words), 1);
        this.#sayUnsent(text);
        return false;
      }
    };
    const words = { text: scrubbed, sent: send() };
    this.#unread.push(words);
  }

  /** Words that were typed before the question never answer it. They are kept for the agent's next step. */
  async #ask(callId: string, ask: AskPerson, withdrawn: AbortSignal): Promise<void> {
    const question = this.#question;
    const isAsked = this.#asked === callId;
    const text = isAsked ? "" : joinWords(await this.#parts.context.output.takeTypedAhead());
    if (text !== "") this.#keep(text, question !== undefined);
    // A question that was withdrawn before it was shown does not count as asked.
    if (!withdrawn.aborted) this.#asked = callId;
    if (question === undefined && !isAsked) await this.#sayFacts(callId);
    const said = await ask(question, withdrawn, isAsked);
    if (said.kind !== "withdrawn") this.#answered = callId;
    // Sent after the approval, the words could miss the next step.
    await this.hasUnread();
    await this.#send(callId, said);
    // Sent before the answer, they would answer the agent's question.
    for (const words of this.#typedWords.splice(0))
      if (said.kind === "words") this.#sendWords(words);
      else this.#sayUnsent(words);
  }

  /**
   * Shows what the question in the log does not have: all of the code, sources of files, and when the question expires;
   * and the command again when the log lost what looks like a secret of it.
   */
  async #sayFacts(callId: string): Promise<void> {
    const { agent, context } = this.#parts;
    const { home, output, redact, scrub } = context;
    const waiting = await loadQuestion(context, agent, callId);
    if (!waiting) return;
    const call = formatCall(home, "show", agent);
    const whole = describeApproval(waiting, call);
    const isAltered = [JSON.stringify(waiting), clean(whole.join("\n"))].some((text) => redact(text) !== text);
    const lines = isAltered ? ["The command as it would run:", ...whole] : describeMore(waiting, call);
    if (lines.length > 0) output.say(scrub(clean(lines.join("\n"))));
  }

  /** Call at the end of the run. Withdraws the open question and shows words that were not sent. */
  async end(): Promise<void> {
    await this.withdraw(undefined);
    const text = joinWords(await this.#parts.context.output.takeTypedAhead());
    if (text !== "") this.#sayUnsent(text);
    if (!(await this.hasUnread())) return;
    const { agent, context } = this.#parts;
    const call = formatCall(context.home, "resume", agent);
    for (const words of this.#unread)
      context.output.say(context.redact(`Not read yet: ${words.text}\n  ${agent} reads it when it goes on: ${call}`));
  }

  #sayUnsent(text: string): void {
    const { agent, context } = this.#parts;
    const call = formatCall(context.home, "say", agent, '"…"');
    context.output.say(context.redact(`Not sent: ${text}\n  Send it with: ${call}`));
  }

  /** Withdraws the open question because of this event. Resolves when the terminal is free. */
  async withdraw(event: RecordedEvent | undefined): Promise<void> {
    if (!this.#open) return;
    const { callId, withdrawn, ended } = this.#open;
    const wasAsking = callId !== this.#answered;
    withdrawn.abort();
    await ended;
    if (!wasAsking || !event) return;
    const sentence = answeredElsewhere(callId, event);
    // An approval has two events; this prevents a second question between them.
    if (sentence !== "") this.#answered = callId;
    // Starts a new line after the question.
    this.#parts.context.output.say(sentence === "" ? "" : `\n${sentence}`);
  }

  async #send(callId: string, said: PersonSaid): Promise<void> {
    const { agent, context, client, onLeft, onStop } = this.#parts;
    const { scrub, output } = context;
    if (said.kind === "withdrawn") return;
    if (said.kind === "left") return onLeft();
    if (said.kind === "refused") return onStop();
    try {
      if (said.kind === "words") await client().say(agent, { from: "a person", text: scrub(said.text) });
      else if (said.kind === "approved")
        await client().answer(agent, { callId, verdict: "approved", count: said.count });
      else await client().answer(agent, { callId, verdict: "denied", text: scrub(said.text) });
    } catch (thrown) {
      output.say(clean(toError(thrown).message));
      // Another client answered first. Its event is shown.
      if (isGoaldError(thrown, "GOALD_CONFLICT")) return;
      this.#answered = "";
      setImmediate(() => this.#state && this.lookAt(this.#state));
    }
  }
}

const joinWords = (lines: readonly string[]): string =>
  lines
    .map((line) => clean(line).trim())
    .filter((line) => line !== "")
    .join("\n");

/** Returns the call that waits for an approval or an answer; undefined while the agent is paused. */
function waitingCall(state: AgentState): string | undefined {
  const { phase } = activeFrame(state);
  if (state.paused) return undefined;
  if (phase.kind === "waiting") return questionOf(state) === undefined ? undefined : phase.callId;
  return approvalOf(state)?.callId;
}

/** Describes how another client answered the call; empty when the event is not about it. */
function answeredElsewhere(callId: string, event: RecordedEvent): string {
  if (event.type === "approvals-granted") return "It was approved elsewhere.";
  if (!("callId" in event) || event.callId !== callId) return "";
  if (event.type === "command-approved") return "It was approved elsewhere.";
  if (event.type === "command-finished") return "It was answered elsewhere.";
  return event.type === "command-denied" ? "It was denied elsewhere." : "";
}

type PersonSaid =
  /** `refused`: the command does not run, and the agent is paused. */
  | Exclude<ApprovalReply, { readonly kind: "unclear" }>
  /** The answer to the agent's own question. */
  | { readonly kind: "words"; readonly text: string }
  /** Ctrl-C or the end of input. */
  | { readonly kind: "left" }
  /** The question was withdrawn before an answer. */
  | { readonly kind: "withdrawn" };

/**
 * Asks the agent's question, or without one for the approval of the shown command. Aborting `withdraw` withdraws it.
 * `isAsked`: the same was asked before, so that a half-typed line may answer it.
 */
export type AskPerson = (question: string | undefined, withdraw: AbortSignal, isAsked: boolean) => Promise<PersonSaid>;

/** Returns undefined without an interactive terminal. */
export function createAskPerson(context: CliContext): AskPerson | undefined {
  if (!context.output.interactive) return undefined;
  return async (question, withdraw, isAsked) => {
    const said =
      question === undefined
        ? await askApproval(context, withdraw, isAsked)
        : await askWords(context, question, withdraw);
    return said ?? { kind: withdraw.aborted ? "withdrawn" : "left" };
  };
}

async function askApproval(
  context: CliContext,
  withdraw: AbortSignal,
  isAsked: boolean,
): Promise<PersonSaid | undefined> {
  const { output } = context;
  for (let isSeen = isAsked; ; isSeen = true) {
    const line = await askLine(context, APPROVAL_QUESTION, withdraw);
    if (line === undefined) return undefined;
    const answer = readApproval(line);
    if (answer.kind === "approved" && !isSeen && output.input().wasBegunEarly) {
      output.say("You began to type that before the command was shown. Answer again.");
      continue;
    }
    if (answer.kind !== "unclear") return answer;
    output.say(answer.why);
  }
}

/** Repeats the question after an empty line. */
async function askWords(context: CliContext, question: string, withdraw: AbortSignal): Promise<PersonSaid | undefined> {
  const { output, redact } = context;
  output.say(redact(clean(`\nIt asks: ${question}`)));
  for (;;) {
    const line = await askLine(context, "Your answer: ", withdraw);
    if (line === undefined) return undefined;
    if (line.trim() !== "") return { kind: "words", text: clean(line).trim() };
  }
}

/** Resolves to undefined when the person leaves or the question is withdrawn. */
async function askLine({ output }: CliContext, question: string, withdraw: AbortSignal): Promise<string | undefined> {
  try {
    return await output.input().askLine(question, withdraw);
  } catch (thrown) {
    if (withdraw.aborted) return undefined;
    throw thrown;
  }
}
