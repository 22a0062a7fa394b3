/**
 * follow-agent.ts -- follows an agent of another process: shows what happens, and asks the person what it asks.
 *
 * It ends when the agent does nothing more by itself, or when the person leaves: then the agent goes on. A host that dies
 * meanwhile is started again, and no event is missed or shown twice. A question that somebody else answers
 * elsewhere is taken back.
 */
import { findHost } from "#api/auto-start.ts";
import type { Client } from "#api/client.ts";
import type { Followed } from "#api/follow.ts";
import { isHostHeld } from "#api/host-lock.ts";
import { EXIT, GoaldError, isGoaldError, toError } from "#core/errors.ts";
import type { RecordedEvent } from "#core/event.ts";
import { evolve } from "#core/evolve.ts";
import { type AgentState, activeFrame, questionOf } from "#core/state.ts";
import type { ForegroundParts } from "#host/foreground.ts";
import { clean } from "#util/clean.ts";
import type { AskPerson, PersonSaid } from "./ask-person.ts";
import { type CliContext, formatCall } from "./context.ts";
import type { Show } from "./result.ts";
import { reviveDaemon } from "./revive.ts";

export interface FollowParts {
  readonly context: CliContext;
  readonly client: Client;
  /** Its id. */
  readonly agent: string;
  /** What is known of it: the number of its last event, and its state then. */
  readonly after: number;
  readonly state: AgentState;
  readonly show: Show;
  /** undefined when there is nobody to ask. */
  readonly ask: AskPerson | undefined;
  /** The agent's own questions. */
  readonly askWords?: ForegroundParts["askWords"] | undefined;
  /** True for the states that there is nothing to wait for in. */
  isEnd(state: AgentState): boolean;
}

export interface FollowEnd {
  readonly state: AgentState;
  /** True when the person left, false when it came to its end. */
  readonly left: boolean;
}

/** How long to wait for a host that is gone, before looking whether it must be started again. */
const PATIENCE_MS = 2_000;

export async function followAgent(parts: FollowParts): Promise<FollowEnd> {
  const leaving = watchSignals();
  const host = { client: parts.client };
  const questions = createQuestions(parts, host, leaving.leave);
  let { state } = parts;
  try {
    questions.lookAt(state);
    for await (const event of eventsOf(parts, host, leaving.signal)) {
      const before = state;
      state = evolve(state, event);
      await questions.withdraw(event);
      parts.show(event);
      // What it was when it was resumed does not end it again.
      if (parts.isEnd(state) && !parts.isEnd(before)) return { state, left: false };
      questions.lookAt(state);
    }
    return { state, left: true };
  } finally {
    leaving.restore();
    await questions.withdraw(undefined);
  }
}

/** Ends when the person leaves. Throws GOALD_DAEMON when there is no host any more, and none that should be there. */
async function* eventsOf(
  { context, agent, after: known, state, show }: FollowParts,
  host: { client: Client },
  signal: AbortSignal,
): AsyncGenerator<RecordedEvent> {
  let after = known;
  const live = show.onText !== undefined;
  const hear = createHearing(show);
  for (;;) {
    try {
      for await (const followed of host.client.follow(agent, { after, signal, live, patienceMs: PATIENCE_MS })) {
        if (followed.kind === "event") {
          after = followed.event.seq;
          yield followed.event;
        } else if (followed.kind === "delta") hear(followed);
        else if (followed.kind === "bye") context.output.say(byeOf(followed));
      }
      return;
    } catch (thrown) {
      if (!isGoaldError(thrown, "GOALD_DAEMON") || signal.aborted) throw thrown;
      host.client = (await findNextHost(context, agent, state.settings.background)) ?? host.client;
    }
  }
}

/** Pieces in their order, each once; of a reply of which one was missed, nothing more. */
function createHearing(show: Show): (piece: Extract<Followed, { kind: "delta" }>) => void {
  let heard = { seq: 0, chars: 0 };
  return ({ seq, from, text }) => {
    if (heard.seq !== seq) heard = { seq, chars: 0 };
    const end = from + text.length;
    if (from > heard.chars || end <= heard.chars) return;
    show.onText?.(text.slice(heard.chars - from));
    heard = { seq, chars: end };
  };
}

/** Of a home whose host is gone: another one, or undefined while the one that has the lock does not answer yet. */
async function findNextHost({ home }: CliContext, agent: string, isOfBackground: boolean): Promise<Client | undefined> {
  await reviveDaemon(home);
  if (isHostHeld(home.lock)) return findHost(home);
  if (!isOfBackground)
    throw new GoaldError("GOALD_DAEMON", `The run on a terminal that ${agent} belongs to has ended.`, {
      hint: `Go on with it: ${formatCall(home, "resume", agent)}`,
    });
  throw new GoaldError("GOALD_DAEMON", `The daemon is down; ${agent} goes on where it stands when it is up again.`, {
    hint: `Start it: ${formatCall(home, "up")}`,
  });
}

const byeOf = ({ reason }: Extract<Followed, { readonly reason: string }>): string =>
  clean(`The host goes down${reason ? `: ${reason}` : ""}`);

interface Questions {
  /** Asks when a command waits for a yes in this state, and was not answered yet. */
  lookAt(state: AgentState): void;
  /** Takes back the question that stands, because of this event. Resolves when the terminal is free. */
  withdraw(event: RecordedEvent | undefined): Promise<void>;
}

/** The question of the moment, in front of the person while the events go on. */
function createQuestions(parts: FollowParts, host: { readonly client: Client }, leave: () => void): Questions {
  const { context, agent, ask, askWords } = parts;
  const { output } = context;
  let open: { readonly callId: string; readonly taken: AbortController; readonly ended: Promise<void> } | undefined;
  /** The call that has its answer, which the agent has not read yet. */
  let answered = "";
  let now = parts.state;
  let failure: Error | undefined;

  function lookAt(state: AgentState): void {
    now = state;
    const callId = waitingCall(state);
    const asking = askingFor(state);
    if (!asking || open || callId === undefined || callId === answered) return;
    const taken = new AbortController();
    output.input().dropTypedAhead();
    const ended = asking(taken.signal)
      .then((said) => tell(callId, said))
      .finally(() => {
        open = undefined;
      });
    ended.catch((thrown: unknown) => {
      failure = toError(thrown);
      leave();
    });
    open = { callId, taken, ended };
  }

  function askingFor(state: AgentState): AskPerson | undefined {
    const question = questionOf(state);
    if (question === undefined || !askWords) return question === undefined ? ask : undefined;
    return async (withdraw) => {
      const text = await askWords(question, withdraw);
      return text === undefined ? { kind: withdraw.aborted ? "withdrawn" : "left" } : { kind: "words", text };
    };
  }

  async function tell(callId: string, said: PersonSaid): Promise<void> {
    if (said.kind === "withdrawn") return;
    if (said.kind === "left") return leave();
    answered = callId;
    try {
      if (said.kind === "no") await host.client.pause(agent, "The person at the terminal stopped here.");
      else if (said.kind === "words")
        await host.client.say(agent, { from: "a person", text: context.scrub(said.text) });
      else if (said.kind === "approved")
        await host.client.answer(agent, { callId, verdict: "approved", count: said.count });
      else await host.client.answer(agent, { callId, verdict: "denied", text: context.scrub(said.text) });
    } catch (thrown) {
      output.say(clean(toError(thrown).message));
      // Somebody else was faster: the events say so. Otherwise it is asked again.
      if (isGoaldError(thrown, "GOALD_CONFLICT")) return;
      answered = "";
      setImmediate(() => lookAt(now));
    }
  }

  async function withdraw(event: RecordedEvent | undefined): Promise<void> {
    if (failure) throw failure;
    if (!open) return;
    const { callId, taken, ended } = open;
    const wasAsking = callId !== answered;
    taken.abort();
    await ended;
    if (!wasAsking || !event) return;
    const sentence = takenBack(callId, event);
    // It comes in two events, and is not asked about between them.
    if (sentence !== "") answered = callId;
    // The question's own line ends first.
    output.say(sentence === "" ? "" : `\n${sentence}`);
  }

  return { lookAt, withdraw };
}

/** The call that waits for a yes or for words; undefined while the agent is paused. */
function waitingCall(state: AgentState): string | undefined {
  const { phase } = activeFrame(state);
  if (phase.kind === "waiting" && questionOf(state) !== undefined) return state.paused ? undefined : phase.callId;
  return phase.kind === "awaiting-approval" && !state.paused ? phase.callId : undefined;
}

/** What somebody else did about the call, in a sentence; empty when the event is of something else. */
function takenBack(callId: string, event: RecordedEvent): string {
  if (event.type === "approvals-granted") return "It was approved elsewhere.";
  if (!("callId" in event) || event.callId !== callId) return "";
  if (event.type === "command-approved") return "It was approved elsewhere.";
  if (event.type === "command-finished") return "It was answered elsewhere.";
  return event.type === "command-denied" ? "It was denied elsewhere." : "";
}

/** The first Ctrl-C (or SIGTERM) leaves; a second one does not wait for anything. */
function watchSignals(): { readonly signal: AbortSignal; leave(): void; restore(): void } {
  const leaving = new AbortController();
  const onSignal = (): void => {
    if (leaving.signal.aborted) process.exit(EXIT.interrupted);
    leaving.abort();
  };
  for (const name of ["SIGINT", "SIGTERM"] as const) process.on(name, onSignal);
  return {
    signal: leaving.signal,
    leave: () => leaving.abort(),
    restore: () => {
      for (const name of ["SIGINT", "SIGTERM"] as const) process.off(name, onSignal);
    },
  };
}
