/** questions.ts -- asks the person at the terminal what the followed agent asks, while its events go on. */
import type { HostClient } from "#api/client.ts";
import { isGoaldError, toError } from "#core/errors.ts";
import type { RecordedEvent } from "#core/event.ts";
import { type AgentState, activeFrame, questionOf } from "#core/state.ts";
import { clean } from "#util/clean.ts";
import type { AskPerson, AskWords, PersonSaid } from "./ask-person.ts";
import { type CliContext, formatCall } from "./context.ts";

export interface QuestionsParts {
  readonly context: CliContext;
  readonly agent: string;
  /** undefined when there is nobody to ask. */
  readonly ask: AskPerson | undefined;
  /** Asks the agent's own questions. */
  readonly askWords: AskWords | undefined;
  /** The host of the moment. */
  client(): HostClient;
  /** The person left the question without an answer, by Ctrl-C or the end of input. */
  onLeft(): void;
  /** The person said that the agent is to stop. */
  onStop(): void;
  /** The question could not be asked. */
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
  /** The call whose answer was sent, and that the agent has not read yet. */
  #answered = "";
  #state: AgentState | undefined;
  /** Words typed before a question was shown; they are sent with its answer. */
  readonly #typedWords: string[] = [];

  constructor(parts: QuestionsParts) {
    this.#parts = parts;
  }

  /** Asks when a command waits for a yes in this state, or a question for words, and was not answered yet. */
  lookAt(state: AgentState): void {
    this.#state = state;
    const callId = waitingCall(state);
    const ask = this.#askerFor(state);
    if (!ask || this.#open || callId === undefined || callId === this.#answered) return;
    const withdrawn = new AbortController();
    const ended = this.#ask(callId, ask, withdrawn.signal)
      .catch((thrown) => this.#parts.onFailed(toError(thrown)))
      .finally(() => {
        this.#open = undefined;
      });
    this.#open = { callId, withdrawn, ended };
  }

  /** Words that were typed before the question was shown never answer it: they are kept for the agent's next step. */
  async #ask(callId: string, ask: AskPerson, withdrawn: AbortSignal): Promise<void> {
    const { output, redact } = this.#parts.context;
    const isQuestion = this.#state !== undefined && questionOf(this.#state) !== undefined;
    const text = joinWords(await output.takeTypedAhead());
    if (text !== "") {
      output.say(redact(`Kept for the next step: ${text.replaceAll("\n", "\n  ")}`));
      this.#typedWords.push(text);
    }
    const said = await ask(withdrawn);
    if (said.kind !== "withdrawn") this.#answered = callId;
    if (isQuestion) {
      // Sent before the answer, the words would answer the agent's question.
      await this.#send(callId, said);
      if (said.kind === "words") await this.#sendTypedWords();
      else for (const words of this.#typedWords.splice(0)) this.#sayUnsent(words);
      return;
    }
    // Sent after the answer, the words could miss the next step.
    await this.#sendTypedWords();
    await this.#send(callId, said);
  }

  async #sendTypedWords(): Promise<void> {
    const { agent, context, client } = this.#parts;
    for (const text of this.#typedWords.splice(0))
      try {
        await client().say(agent, { from: "a person", text: context.scrub(text) });
      } catch (thrown) {
        context.output.say(context.redact(clean(toError(thrown).message)));
        this.#sayUnsent(text);
      }
  }

  /** Ends with the run: withdraws the open question, and shows the words that nobody will send. */
  async end(): Promise<void> {
    await this.withdraw(undefined);
    const text = joinWords(await this.#parts.context.output.takeTypedAhead());
    if (text !== "") this.#sayUnsent(text);
  }

  #sayUnsent(text: string): void {
    const { agent, context } = this.#parts;
    const call = formatCall(context.home, "say", agent, '"…"');
    context.output.say(context.redact(`Not sent: ${text}\n  Send it with: ${call}`));
  }

  /** Takes back the open question, because of this event. Resolves when the terminal is free. */
  async withdraw(event: RecordedEvent | undefined): Promise<void> {
    if (!this.#open) return;
    const { callId, withdrawn, ended } = this.#open;
    const wasAsking = callId !== this.#answered;
    withdrawn.abort();
    await ended;
    if (!wasAsking || !event) return;
    const sentence = answeredElsewhere(callId, event);
    // An approval comes in two events, and is not asked for between them.
    if (sentence !== "") this.#answered = callId;
    // Ends the line of the question first.
    this.#parts.context.output.say(sentence === "" ? "" : `\n${sentence}`);
  }

  #askerFor(state: AgentState): AskPerson | undefined {
    const { ask, askWords } = this.#parts;
    const question = questionOf(state);
    if (question === undefined) return ask;
    if (!askWords) return undefined;
    return async (withdrawn) => {
      const text = await askWords(question, withdrawn);
      return text === undefined ? { kind: withdrawn.aborted ? "withdrawn" : "left" } : { kind: "words", text };
    };
  }

  async #send(callId: string, said: PersonSaid): Promise<void> {
    const { agent, context, client, onLeft, onStop } = this.#parts;
    const { scrub, output } = context;
    if (said.kind === "withdrawn") return;
    if (said.kind === "left") return onLeft();
    if (said.kind === "no") return onStop();
    try {
      if (said.kind === "words") await client().say(agent, { from: "a person", text: scrub(said.text) });
      else if (said.kind === "approved")
        await client().answer(agent, { callId, verdict: "approved", count: said.count });
      else await client().answer(agent, { callId, verdict: "denied", text: scrub(said.text) });
    } catch (thrown) {
      output.say(clean(toError(thrown).message));
      // Somebody else was faster: the events say so.
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

/** The call that waits for a yes or for words; undefined while the agent is paused. */
function waitingCall(state: AgentState): string | undefined {
  const { phase } = activeFrame(state);
  if (state.paused) return undefined;
  if (phase.kind === "waiting") return questionOf(state) === undefined ? undefined : phase.callId;
  return phase.kind === "awaiting-approval" ? phase.callId : undefined;
}

/** What somebody else did about the call, in a sentence; empty when the event is about something else. */
function answeredElsewhere(callId: string, event: RecordedEvent): string {
  if (event.type === "approvals-granted") return "It was approved elsewhere.";
  if (!("callId" in event) || event.callId !== callId) return "";
  if (event.type === "command-approved") return "It was approved elsewhere.";
  if (event.type === "command-finished") return "It was answered elsewhere.";
  return event.type === "command-denied" ? "It was denied elsewhere." : "";
}
